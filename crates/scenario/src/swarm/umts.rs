//! Draws of UMTS accesses, from what a network has to what nobody would set.

use std::fmt::Write;

use super::Draw;

/// Stands in a scenario with settings under which a flow may never come to its end: RLC that can stand still for ever, or
/// loses too much for TCP to get through.
pub(super) const HOSTILE: &str = "# hostile";

/// The longest packet of a drawn flow, its options and tags included, rounded up.
const LONGEST_PACKET: u64 = 1600;

/// A UMTS access that was drawn, as far as changes of it have to know.
pub(super) struct Drawn {
    name: &'static str,
    mode: &'static str,
    is_hostile: bool,
    has_rrc: bool,
    has_cell: bool,
    /// Whether a packet may take longer than a terminal that moves stays.
    is_slow: bool,
    /// Whether its cell admits some and refuses others.
    admits: bool,
    /// Down and up.
    ways: Vec<Way>,
}

/// One direction of it.
#[derive(Clone, Copy)]
struct Way {
    tti: u64,
    /// The sizes that a PDU may have in the course of time, the smallest last.
    pdus: [u64; 2],
    /// PDUs of the longest packet, at the most.
    blocks: u64,
    /// How likely a PDU in error is in error again, at the most.
    again: f64,
}

impl Draw {
    /// Whether the access of this name is UMTS.
    pub(super) fn is_umts(&self, name: &str) -> bool {
        self.umts.iter().any(|drawn| drawn.name == name)
    }

    /// Whether packets of an access may take longer than a terminal that moves stays there, so that none gets through.
    pub(super) fn is_slow(&self) -> bool {
        self.umts.iter().any(|drawn| drawn.is_slow)
    }

    /// A UMTS access.
    pub(super) fn umts(&mut self, name: &'static str, file: &mut String) {
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        let is_hostile = self.chance(0.3);
        line(format!("[access.{name}]\ntype = \"umts\""));
        if is_hostile {
            line(HOSTILE.into());
        }
        let mode = self.choose(&["am", "am", "am", "um", "tm"]);
        let (mut ways, mut is_slow) = (Vec::new(), false);
        for direction in ["down", "up"] {
            // Transparent mode needs a TTI that carries a whole packet.
            let (rates, ttis): (&[u64], &[u64]) = match mode {
                "tm" if !is_hostile => (&[384, 2048], &[40, 80]),
                _ => (&[8, 32, 64, 128, 384, 2048], &[10, 20, 40, 80]),
            };
            let (rate, tti) = (self.choose(rates), self.choose(ttis));
            let pdu = self.choose(&[10, 20, 42, 82, 126, 127, 150, 320]).min(rate * tti / 8);
            let smaller = self.choose(&[10, 20, 42, 126, 127]).min(pdu);
            line(format!(
                "{direction}.rate = \"{rate} kbit/s\"\n{direction}.tti = \"{tti} ms\"\n{direction}.pdu = \"{pdu} B\""
            ));
            let blocks = LONGEST_PACKET.div_ceil(smaller - 2) + 1;
            is_slow |= rate < 32;
            let (errors, again) = match mode {
                "am" => self.errors(),
                _ if is_hostile => self.errors(),
                _ => (format!("{:?}", self.choose(&[0.0, 0.05]) / blocks as f64), 0.0),
            };
            let way = Way { tti, pdus: [pdu, smaller], blocks, again };
            line(format!("{direction}.errors = {errors}"));
            line(format!("{direction}.rlc.type = \"{mode}\""));
            for setting in self.rlc(mode, is_hostile, way).iter().flat_map(|settings| settings.lines()) {
                line(format!("{direction}.rlc.{setting}"));
            }
            ways.push(way);
        }
        let delays =
            ["ue", "node_b", "rnc", "sgsn", "ggsn"].map(|node| format!("{node} = \"{} ms\"", self.between(0, 50)));
        line(format!("delays = {{ {} }}", delays.join(", ")));
        let periods = "repeats = 2, ir_period = 60, fo_period = 25, failures = 2";
        line(match self.between(0, 5) {
            0 | 1 => "pdcp.header = false".into(),
            2 => "pdcp.header = true".into(),
            3 => format!(
                "pdcp = {{ header = true, compression = {{ type = \"rfc1144\", slots = {} }} }}",
                self.between(1, 4)
            ),
            4 => {
                let (twice, requests) = (self.chance(0.5), self.chance(0.5));
                let settings = format!("tcp_space = 1, twice = {twice}, header_requests = {requests}");
                format!("pdcp = {{ header = true, compression = {{ type = \"rfc2507\", {settings} }} }}")
            }
            _ => {
                let mode = self.choose(&["unidirectional", "optimistic"]);
                let settings = format!("mode = \"{mode}\", {periods}");
                format!("pdcp = {{ header = true, compression = {{ type = \"rohc\", {settings} }} }}")
            }
        });
        // The common channels carry PDUs of 42 octets at the most.
        let has_rrc = mode == "am" && ways.iter().all(|way| way.pdus[0] <= 42) && self.chance(0.6);
        if has_rrc {
            line(self.rrc());
        }
        let cell = if self.chance(0.3) { self.cell(has_rrc) } else { String::new() };
        let (has_cell, admits) = (!cell.is_empty(), cell.contains("guaranteed"));
        line(cell);
        self.umts.push(Drawn { name, mode, is_hostile, has_rrc, has_cell, is_slow, admits, ways });
    }

    /// How a terminal may stand in the cells there are.
    pub(super) fn radio(&mut self) -> Vec<String> {
        let mut keys = Vec::new();
        if self.umts.iter().any(|drawn| drawn.has_cell) {
            keys.push(format!("c_to_i = \"{} dB\"", self.choose(&[-15, -7, 0, 10])));
            keys.push(format!("thp = {}", self.between(1, 3)));
        }
        if self.umts.iter().any(|drawn| drawn.admits) {
            keys.push(format!("arp = {}", self.between(1, 15)));
        }
        keys
    }

    fn rrc(&mut self) -> String {
        let initial = self.choose(&["idle", "ura-pch", "cell-pch", "cell-fach", "cell-dch"]);
        let (connect_to, paging) =
            (self.choose(&["cell-fach", "cell-dch"]), self.choose(&["cell-pch", "ura-pch", "idle"]));
        let (dch, fach) = (self.choose(&[100, 2_000, 5_000]), self.choose(&[500, 12_000]));
        let mut keys = vec![
            format!("initial = \"{initial}\", connect_to = \"{connect_to}\", paging = \"{paging}\""),
            format!("dch_inactivity = \"{dch} ms\", fach_inactivity = \"{fach} ms\""),
            format!("dch_setup = \"{} ms\"", self.choose(&[0, 50, 1_000])),
        ];
        if self.chance(0.3) {
            keys.push(format!(
                "reselection = {{ interval = \"exponential {} s\", gap = \"900 ms\" }}",
                self.between(3, 10)
            ));
        }
        if self.chance(0.3) {
            let slow = "{ rate = \"32 kbit/s\", tti = \"20 ms\" }";
            let release = self.choose(&["periodic", "when-empty"]);
            keys.push(format!(
                "dch.oscillation = {{ fast_for = \"1 s\", slow_for = \"300 ms\", slow = {slow}, release = \"{release}\" }}"
            ));
        }
        if self.chance(0.3) {
            keys.push("dch.switching = { rates = [{ rate = \"144 kbit/s\", tti = \"20 ms\" }] }".into());
        }
        format!("rrc = {{ {} }}", keys.join(", "))
    }

    fn cell(&mut self, has_rrc: bool) -> String {
        let scheduler = self.choose(&["fair-throughput", "fair-resource", "c-i", "proportional-fair"]);
        let mut keys =
            vec![format!("capacity = \"{} kbit/s\", scheduler = \"{scheduler}\"", self.choose(&[128, 384, 2_048]))];
        if has_rrc && self.chance(0.5) {
            keys.push(format!("guaranteed = \"{} kbit/s\"", self.choose(&[16, 64])));
        }
        if self.chance(0.4) {
            let (interval, duration) =
                (self.choose(&["3 s", "exponential 2 s"]), self.choose(&["500 ms", "exponential 1 s"]));
            keys.push(format!(
                "calls = {{ interval = \"{interval}\", duration = \"{duration}\", rate = \"{} kbit/s\" }}",
                self.choose(&[12, 100])
            ));
        }
        format!("cell = {{ {} }}", keys.join(", "))
    }

    /// Settings of RLC in one direction, in texts of lines that belong together.
    fn rlc(&mut self, mode: &str, is_hostile: bool, way: Way) -> Vec<String> {
        match mode {
            "am" => self.acknowledged(is_hostile, way),
            _ => self.unacknowledged(mode, is_hostile),
        }
    }

    fn unacknowledged(&mut self, mode: &str, is_hostile: bool) -> Vec<String> {
        let mut settings = Vec::new();
        if mode == "tm" {
            settings.push(format!("segmentation = {}", !is_hostile || self.chance(0.5)));
        }
        if is_hostile && self.chance(0.7) {
            settings.push(format!("discard_timer = \"{} ms\"", self.choose(&[1, 20, 500, 5_000])));
        } else if mode == "tm" || self.chance(0.3) {
            settings.push("discard_timer = \"200 s\"".into());
        } else {
            settings.push("discard_timer = \"none\"".into());
        }
        if self.chance(0.4) {
            settings.push(format!("queue = \"{} packets\"", self.between(2, 40)));
        }
        settings
    }

    fn acknowledged(&mut self, is_hostile: bool, way: Way) -> Vec<String> {
        let mut settings = Vec::new();
        // Where a window of a few octets opens once a second, TCP repeats itself faster than that.
        let least = if is_hostile { 1 } else { 400u64.div_ceil(way.pdus[1] - 2) };
        let windows = [1, 2, 5, 15, 64, 512, 2047, 4095];
        let window = self.choose(&windows).max(least);
        let receive_window = self.choose(&windows).max(window);
        settings.push(format!("window = {window}\nreceive_window = {receive_window}"));
        let discard = self.choose(&["none", "max-dat", "timer", "reset"]);
        settings.push(format!("discard = \"{discard}\""));
        // Few enough lost packets, or resets, that TCP gets through.
        let packets = way.blocks as f64 * 20.0;
        let enough = (1..200).find(|&attempts| packets * way.again.powi(attempts) < 1.0).unwrap_or(200) as u64;
        settings.push(match is_hostile {
            true => {
                format!("max_dat = {}\ndiscard_timer = \"{} ms\"", self.between(1, 10), self.choose(&[10, 200, 5_000]))
            }
            false => format!("max_dat = {}\ndiscard_timer = \"200 s\"", self.between(enough + 2, 255)),
        });
        settings.extend(self.moves_and_resets());
        settings.push(format!("delivery = \"{}\"", self.choose(&["in-sequence", "out-of-sequence"])));
        if self.chance(0.4) {
            settings.push(format!("queue = \"{} packets\"", self.between(2, 40)));
        }
        if self.chance(0.3) {
            settings.push(format!("buffer = \"{} B\"", self.between(3_000, 60_000)));
        }
        settings.push(format!("special_he = {}", self.chance(0.5)));
        settings.push(self.polls(is_hostile).join("\n"));
        settings.extend(self.reports());
        if self.chance(0.2) {
            settings.push(format!("status.window = {}", self.choose(&windows).max(least)));
        }
        settings
    }

    fn moves_and_resets(&mut self) -> [String; 4] {
        [
            format!("timer_mrw = \"{} ms\"", self.choose(&[20, 300, 2_000])),
            format!("max_mrw = {}", self.between(1, 32)),
            format!("timer_rst = \"{} ms\"", self.choose(&[20, 300, 2_000])),
            format!("max_rst = {}", self.between(1, 32)),
        ]
    }

    /// When the transmitter polls. Something must ask again when a poll or what answers it is lost, or the bearer may stand
    /// still (Teyeb, appendix C).
    fn polls(&mut self, is_hostile: bool) -> Vec<String> {
        // A timer in step with the blackouts, which come every two seconds, would lose each of its answers.
        let timer = self.choose(&["none", "40 ms", "300 ms", "1730 ms"]);
        let (last, resent) = (self.chance(0.6), self.chance(0.6));
        let every_pdus = self.choose(&[0, 0, 0, 1, 4, 32, 128]);
        let asks_again = timer != "none" && (last && resent || every_pdus == 1);
        let periodic = match is_hostile || asks_again {
            true => self.choose(&["none", "none", "100 ms", "1 s"]),
            false => self.choose(&["100 ms", "1 s"]),
        };
        let mut polls = vec![
            format!("poll.last_pdu = {last}\npoll.last_retransmitted_pdu = {resent}"),
            format!("poll.timer = \"{timer}\"\npoll.periodic = \"{periodic}\""),
            format!("poll.prohibit = \"{}\"", self.choose(&["none", "30 ms", "200 ms", "1 s"])),
        ];
        if every_pdus > 0 {
            polls.push(format!("poll.every_pdus = {every_pdus}"));
        }
        if self.chance(0.3) {
            polls.push(format!("poll.every_sdus = {}", self.choose(&[1, 2, 16])));
        }
        if self.chance(0.3) {
            polls.push(format!("poll.window = {}", self.choose(&[1, 50, 90, 100])));
        }
        polls
    }

    /// When the receiver reports, and how.
    fn reports(&mut self) -> [String; 6] {
        [
            format!("status.missing_pdu = {}", self.chance(0.5)),
            format!("status.periodic = \"{}\"", self.choose(&["none", "none", "100 ms", "1 s"])),
            format!("status.prohibit = \"{}\"", self.choose(&["none", "50 ms", "150 ms", "1 s"])),
            format!("status.estimated_pdu_counter = \"{}\"", self.choose(&["none", "none", "60 ms", "500 ms"])),
            format!("status.format = \"{}\"", self.choose(&["bitmap", "list", "relative-list"])),
            format!("status.piggyback = {}", self.chance(0.5)),
        ]
    }

    /// A change of the access `a` while it runs, or of how the terminal of this number stands in its cell.
    pub(super) fn change_of_umts(&mut self, terminal: u64) -> String {
        let drawn = &self.umts[0];
        let (mode, is_hostile, has_rrc, has_cell) = (drawn.mode, drawn.is_hostile, drawn.has_rrc, drawn.has_cell);
        let (direction, way) = self.choose(&[("down", drawn.ways[0]), ("up", drawn.ways[1])]);
        let changes = match self.between(0, 12) {
            0 => vec![format!("{direction}.errors = {}", self.choose(&["0.0", "0.001"]))],
            1 => vec![format!("delays.rnc = \"{} ms\"", self.between(0, 300))],
            2 => vec![format!("delays.node_b = \"{} ms\"", self.between(0, 100))],
            3 => vec![format!("{direction}.rate = \"{} kbit/s\"", self.choose(&[384, 1000, 2048]))],
            4 => vec![format!("{direction}.tti = \"{} ms\"", self.choose(&[10, 20, 40, 80]).max(way.tti))],
            5 | 6 => vec![format!("{direction}.pdu = \"{} B\"", self.choose(&way.pdus))],
            7 if has_cell => vec![self.cell(has_rrc)],
            8 if has_rrc => vec![self.rrc()],
            9 if has_cell => {
                let keys = self.radio();
                return format!("set = {{ \"terminal.t{terminal}\" = {{ {} }} }}", self.choose_some(&keys).join(", "));
            }
            _ => {
                let settings = self.rlc(mode, is_hostile, way);
                let lines = self.choose_some(&settings).join("\n");
                lines.lines().map(|line| format!("{direction}.rlc.{line}")).collect()
            }
        };
        let keys = changes.iter().filter_map(|change| change.split_once(" = "));
        let sets: Vec<String> = keys.map(|(key, value)| format!("\"access.a.{key}\" = {value}")).collect();
        format!("set = {{ {} }}", sets.join(", "))
    }

    /// At least one of these.
    fn choose_some(&mut self, all: &[String]) -> Vec<String> {
        let first = self.between(0, all.len() as u64 - 1) as usize;
        let some = all.iter().enumerate().filter(|&(place, _)| place == first || self.chance(0.15));
        some.map(|(_, text)| text.clone()).collect()
    }
}

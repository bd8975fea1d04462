//! Draws of UMTS accesses, from what a network has to what nobody would set.

use std::fmt::Write;

use super::Draw;

/// Stands in a scenario with settings under which a flow may never come to its end: RLC that can stand still for ever, or
/// loses too much for TCP to get through.
pub(super) const HOSTILE: &str = "# hostile";

/// The longest packet of a drawn flow, its options and tags included, rounded up.
const LONGEST_PACKET: u64 = 1600;

impl Draw {
    /// A UMTS access.
    pub(super) fn umts(&mut self, name: &'static str, file: &mut String) {
        self.umts.push(name);
        let mut line = |text: String| writeln!(file, "{text}").expect("a string takes all");
        let is_hostile = self.chance(0.3);
        line(format!("[access.{name}]\ntype = \"umts\""));
        if is_hostile {
            line(HOSTILE.into());
        }
        let mode = self.choose(&["am", "am", "am", "um", "tm"]);
        let mut largest = 0;
        for direction in ["down", "up"] {
            // Transparent mode needs a TTI that carries a whole packet.
            let (rates, ttis): (&[u64], &[u64]) = match mode {
                "tm" if !is_hostile => (&[384, 2048], &[40, 80]),
                _ => (&[8, 32, 64, 128, 384, 2048], &[10, 20, 40, 80]),
            };
            let (rate, tti) = (self.choose(rates), self.choose(ttis));
            let pdu = self.choose(&[10, 20, 42, 82, 126, 127, 150, 320]).min(rate * tti / 8);
            line(format!(
                "{direction}.rate = \"{rate} kbit/s\"\n{direction}.tti = \"{tti} ms\"\n{direction}.pdu = \"{pdu} B\""
            ));
            largest = pdu.max(largest);
            let blocks = LONGEST_PACKET.div_ceil(pdu - 2) + 1;
            let (errors, again) = match mode {
                "am" => self.errors(),
                _ if is_hostile => self.errors(),
                _ => (format!("{:?}", self.choose(&[0.0, 0.05]) / blocks as f64), 0.0),
            };
            line(format!("{direction}.errors = {errors}"));
            line(format!("{direction}.rlc.type = \"{mode}\""));
            let settings = match mode {
                "am" => self.acknowledged(is_hostile, pdu, blocks, again),
                _ => self.unacknowledged(mode, is_hostile),
            };
            for setting in settings.iter().flat_map(|setting| setting.lines()) {
                line(format!("{direction}.rlc.{setting}"));
            }
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
        let has_rrc = mode == "am" && largest <= 42 && self.chance(0.6);
        if has_rrc {
            line(self.rrc());
        }
        if self.chance(0.3) {
            line(self.cell(has_rrc));
        }
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

    fn unacknowledged(&mut self, mode: &str, is_hostile: bool) -> Vec<String> {
        let mut settings = Vec::new();
        if mode == "tm" {
            settings.push(format!("segmentation = {}", !is_hostile || self.chance(0.5)));
        }
        if is_hostile && self.chance(0.7) {
            settings.push(format!("discard_timer = \"{} ms\"", self.choose(&[1, 20, 500, 5_000])));
        } else if mode == "tm" || self.chance(0.3) {
            settings.push("discard_timer = \"200 s\"".into());
        }
        if self.chance(0.4) {
            settings.push(format!("queue = \"{} packets\"", self.between(2, 40)));
        }
        settings
    }

    /// Acknowledged mode with PDUs of `pdu` octets, of which the longest packet takes `blocks`, and of which one in error is
    /// in error `again` with this probability.
    fn acknowledged(&mut self, is_hostile: bool, pdu: u64, blocks: u64, again: f64) -> Vec<String> {
        let mut settings = Vec::new();
        // Where a window of a few octets opens once a second, TCP repeats itself faster than that.
        let least = if is_hostile { 1 } else { 400u64.div_ceil(pdu - 2) };
        let windows = [1, 2, 5, 15, 64, 512, 2047, 4095];
        let window = self.choose(&windows).max(least);
        let receive_window = self.choose(&windows).max(window);
        settings.push(format!("window = {window}\nreceive_window = {receive_window}"));
        let discard = self.choose(&["none", "max-dat", "timer", "reset"]);
        settings.push(format!("discard = \"{discard}\""));
        // Few enough lost packets, or resets, that TCP gets through.
        let enough = (1..200).find(|&attempts| blocks as f64 * 20.0 * again.powi(attempts) < 1.0).unwrap_or(200) as u64;
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
        settings.extend(self.polls(is_hostile));
        settings.extend(self.reports());
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

    /// A change of the access `a` while it runs.
    pub(super) fn change_of_umts(&mut self) -> String {
        let direction = self.choose(&["down", "up"]);
        let set = |key: &str, value: String| format!("set = {{ \"access.a.{key}\" = {value} }}");
        match self.between(0, 3) {
            0 => set(&format!("{direction}.errors"), self.choose(&["0.0", "0.001"]).into()),
            1 => set("delays.rnc", format!("\"{} ms\"", self.between(0, 300))),
            2 => set("delays.node_b", format!("\"{} ms\"", self.between(0, 100))),
            _ => {
                let rate = self.choose(&[384, 1000, 2048]);
                format!("set = {{ \"access.a.{direction}.rate\" = \"{rate} kbit/s\" }}")
            }
        }
    }
}

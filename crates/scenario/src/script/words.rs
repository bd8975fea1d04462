//! Segments in the words of scripts, for reports.

use cellwind_engine::packet::{Flags, Packet};

use super::segment::{COMPARED, Form};
use super::{Script, Side};

/// How a script counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    /// Bytes of data in a full segment.
    payload: u64,
    first_byte: u64,
    test: Side,
}

impl Words {
    pub fn of(script: &Script) -> Self {
        let payload = cellwind_transport::tcp::payload_of_full_segment(&script.transport);
        Words { payload, first_byte: script.first_byte, test: script.test }
    }

    /// A segment that was expected.
    pub fn form(&self, form: &Form) -> String {
        let mut text = self.kind(form.flags, form.seq, form.payload, form.ack);
        self.push_blocks(&mut text, &form.sack);
        let numbers = [("win", form.window), ("ts", form.stamp), ("echo", form.echo)];
        for (name, value) in numbers {
            if let Some(value) = value {
                text.push_str(&format!(" {name} {value}"));
            }
        }
        match form.ect {
            Some(true) => text.push_str(" ect"),
            Some(false) => text.push_str(" not-ect"),
            None => {}
        }
        text
    }

    /// A segment that was seen, with what `form` asks for if it belongs to one.
    pub fn packet(&self, packet: &Packet, form: Option<&Form>) -> String {
        let sends_data = self.test == Side::Sender;
        let seq = (sends_data && packet.occupies_sequence_space()).then_some(packet.seq);
        let ack = (!sends_data).then_some(packet.ack);
        let mut text = self.kind(packet.flags, seq, packet.payload, ack);
        self.push_blocks(&mut text, &packet.sack.iter(packet.ack).collect::<Vec<_>>());
        let asks = |asked: fn(&Form) -> bool| form.is_some_and(asked);
        if asks(|form| form.window.is_some()) {
            text.push_str(&format!(" win {}", packet.window));
        }
        if packet.flags.has(Flags::TIMESTAMPS) && asks(|form| form.stamp.is_some() || form.echo.is_some()) {
            text.push_str(&format!(" ts {} echo {}", packet.timestamps.0, packet.timestamps.1));
        }
        if asks(|form| form.ect.is_some()) {
            let understands = packet.flags.has(Flags::ECT) || packet.flags.has(Flags::CE);
            text.push_str(if understands { " ect" } else { " not-ect" });
        }
        text
    }

    fn kind(&self, flags: Flags, seq: Option<u64>, payload: u32, ack: Option<u64>) -> String {
        let syn = flags.has(Flags::SYN);
        let mut text = match (syn, ack, payload) {
            (true, Some(_), _) => "syn-ack".to_string(),
            (true, None, _) => "syn".to_string(),
            (false, Some(ack), _) => format!("ack {}", self.number(ack)),
            (false, None, 0) if flags.has(Flags::FIN) => {
                format!("fin{}", seq.map(|seq| format!(" {}", self.number(seq))).unwrap_or_default())
            }
            (false, None, 0) => "ack".to_string(),
            (false, None, payload) => {
                let start = seq.unwrap_or(0);
                let fin = if flags.has(Flags::FIN) { " fin" } else { "" };
                format!("data {}{fin}", self.block(start, start + u64::from(payload)))
            }
        };
        for (flag, name) in &COMPARED[3..] {
            if flags.has(*flag) {
                text.push(' ');
                text.push_str(name);
            }
        }
        text
    }

    fn push_blocks(&self, text: &mut String, blocks: &[(u64, u64)]) {
        let blocks: Vec<String> = blocks.iter().map(|&(start, end)| self.block(start, end)).collect();
        if !blocks.is_empty() {
            text.push_str(&format!(" sack {}", blocks.join(",")));
        }
    }

    /// `#3` for what follows segment 3, or the number itself.
    fn number(&self, seq: u64) -> String {
        if self.payload > 1 && self.first_byte == 1 && seq > 1 && (seq - 1).is_multiple_of(self.payload) {
            format!("#{}", (seq - 1) / self.payload)
        } else {
            self.written(seq).to_string()
        }
    }

    /// A sequence number as the script counts; the SYN is 0 here and the first byte 1.
    fn written(&self, seq: u64) -> u64 {
        (seq + self.first_byte).saturating_sub(1)
    }

    /// `#3`, `#3-#5`, or the sequence numbers.
    fn block(&self, start: u64, end: u64) -> String {
        let whole = |seq: u64| seq >= 1 && (seq - 1).is_multiple_of(self.payload);
        if self.payload > 1 && self.first_byte == 1 && whole(start) && whole(end) && start < end {
            let (first, last) = ((start - 1) / self.payload + 1, (end - 1) / self.payload);
            return if first == last { format!("#{first}") } else { format!("#{first}-#{last}") };
        }
        format!("{}:{}", self.written(start), self.written(end))
    }
}

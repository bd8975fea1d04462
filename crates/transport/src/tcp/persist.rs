//! Probing of a closed window (RFC 9293 §3.8.6.1): the receiver may open it again with an ACK that gets lost.

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::core::Core;

/// Whether a closed window is being probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Persist {
    /// Probes sent since the window closed.
    probes: u32,
}

impl Core {
    /// Takes the window of an ACK that is not an old one. True while the peer answers probes of a closed window: the
    /// connection must then stay open however long it takes (RFC 9293 §3.8.6.1). `goes_back` tells that SND.NXT says what
    /// is sent again.
    pub fn take_window(&mut self, packet: &Packet, goes_back: bool, now: Time) -> bool {
        let was_closed = self.snd_wnd == 0;
        self.snd_wnd = self.window_of(packet);
        if self.snd_wnd > 0 && was_closed && (self.persist.probes > 0 || self.snd_una == self.snd_max) {
            self.restart_timer(now); // it was the persist timer, which data sent from now on does not wait for
        }
        if self.snd_wnd > 0 && self.persist.probes > 0 {
            // Whatever was sent to the closed window was refused: it is sent again in order.
            self.persist.probes = 0;
            if goes_back {
                self.snd_nxt = self.snd_una;
            }
        }
        self.persist.probes > 0
    }

    /// The send window that a segment tells.
    pub fn window_of(&self, packet: &Packet) -> u64 {
        let window = u64::from(packet.window);
        if window == 0 { 0 } else { window + self.overrun }
    }

    /// Starts the timer when only a closed window keeps data from leaving.
    pub fn watch_window(&mut self, now: Time) {
        if self.snd_wnd == 0 && self.timer.is_none() && (self.has_unsent() || self.snd_una < self.snd_max) {
            self.timer = Some(now + self.rto.current()); // RFC 9293 §3.8.6.1: after a retransmission timeout
        }
    }

    /// The timer has expired with the window closed: one segment leaves all the same, one byte if it is new.
    pub fn probe_window(&mut self, now: Time, out: &mut Outbox) {
        self.persist.probes = self.persist.probes.saturating_add(1);
        self.counters.window_probes += 1;
        self.rto.on_timeout(self.persist.probes); // increasing intervals
        if self.snd_una < self.snd_max {
            self.resend(self.snd_una, now, out);
        } else if self.has_unsent() {
            self.send_new_until(self.snd_max + 1, now, out); // a byte, or the FIN alone
        }
        self.timer = Some(now + self.rto.current());
    }

    fn has_unsent(&self) -> bool {
        self.snd_max < self.written || (self.closed && self.snd_max == self.written)
    }
}

//! Loss recovery: what duplicate ACKs and timeouts mean, and which segment goes next.
//!
//! A recovery is one file and one variant of [`Recovery`]. It works on the [`Core`], the reliable part of
//! the sender, which it shares with every other recovery.

mod fack;
mod guarded;
mod newreno;
mod prr;
mod rack;
mod reduction;
mod reno;
mod reno_sack;
mod sack;
mod scoreboard;
mod tahoe;
mod vegas;

use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::Packet;
use cellwind_engine::time::Time;

use super::board::Segment;
use super::core::Core;
use super::settings::{BugFix, RecoverySettings, TcpSettings};
use fack::Fack;
use newreno::NewReno;
use rack::Rack;
use reno::Reno;
use reno_sack::RenoSack;
use sack::Sack;
use tahoe::Tahoe;
use vegas::Vegas;

/// What an acknowledgement told, beside moving SND.UNA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    /// Bytes newly acknowledged in sequence.
    pub acked: u64,
    /// Bytes newly reported by SACK blocks.
    pub newly_sacked: u64,
}

/// Whether an acknowledgement of new data restarts the retransmission timer (RFC 6298 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    Restart,
    Keep,
}

/// What a recovery must answer.
pub(crate) trait LossRecovery {
    /// A segment is reported for the first time, by a SACK block or the cumulative ACK; as it was before. Comes before the
    /// calls for the ACK that reports it.
    fn on_delivered(&mut self, _: &Segment, _: &Packet, _now: Time) {}

    /// An acceptable ACK that covers `acked` new bytes, perhaps none, before anything else acts on it; also while nothing
    /// is outstanding.
    fn on_arrival(&mut self, _: &mut Core, _: &Packet, _acked: u64) {}

    /// An acknowledgement that does not move SND.UNA while data is outstanding.
    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox);

    /// An acknowledgement of new data; SND.UNA has moved. Growing the window is up to the recovery.
    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer;

    /// The retransmission timer expired; windows and SND.NXT are already back at the start.
    fn on_timeout(&mut self, core: &mut Core, now: Time);

    /// When the recovery's own timer expires; the retransmission timer waits while it runs.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The recovery's own timer has expired.
    fn on_timer(&mut self, _: &mut Core, _now: Time, _: &mut Outbox) {}

    /// Whether a timeout leaves SND.NXT and the scoreboard as they are, because the recovery resends what it finds lost
    /// there; otherwise SND.NXT goes back to SND.UNA and comes again.
    fn keeps_board(&self) -> bool {
        false
    }

    /// The loss that was found last was none: the windows are back at what they were, and SND.NXT at SND.MAX.
    fn on_spurious(&mut self, core: &mut Core);

    /// Resends nothing, or goes on resending, after a timeout that F-RTO has doubts about (RFC 5682 §2.1). Recoveries that
    /// go back to SND.UNA learn it from SND.NXT.
    fn hold(&mut self, _holds: bool) {}

    /// Sends what the windows allow now.
    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        core.send_within(core.windows.cwnd, now, out);
    }

    /// Goes on sending after the pace held something back.
    fn resume(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        self.send(core, now, out);
    }

    /// True between the detection of a loss and its repair.
    fn is_recovering(&self) -> bool;
}

/// The recovery of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Recovery {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Vegas(Vegas),
    Rack(Box<Rack>),
    Fack(Fack),
    RenoSack(RenoSack),
}

impl Recovery {
    pub fn new(settings: &TcpSettings) -> Self {
        match &settings.recovery {
            RecoverySettings::Tahoe(classic) => Recovery::Tahoe(Tahoe::new(classic)),
            RecoverySettings::Reno(reno) => Recovery::Reno(Reno::new(reno)),
            RecoverySettings::Newreno(newreno) => Recovery::NewReno(NewReno::new(newreno)),
            RecoverySettings::Sack(sack) => Recovery::Sack(Sack::new(sack)),
            RecoverySettings::Vegas(classic) => Recovery::Vegas(Vegas::new(classic)),
            RecoverySettings::Rack(rack) => {
                let clock = settings.timestamps.then_some(settings.timestamp_clock);
                Recovery::Rack(Box::new(Rack::new(rack, clock)))
            }
            RecoverySettings::Fack(fack) => Recovery::Fack(Fack::new(fack)),
            RecoverySettings::RenoSack(classic) => Recovery::RenoSack(RenoSack::new(classic)),
        }
    }
}

/// Calls the same method of whichever recovery it is.
macro_rules! each {
    ($self:ident, $recovery:ident => $call:expr) => {
        match $self {
            Recovery::Tahoe($recovery) => $call,
            Recovery::Reno($recovery) => $call,
            Recovery::NewReno($recovery) => $call,
            Recovery::Sack($recovery) => $call,
            Recovery::Vegas($recovery) => $call,
            Recovery::Rack($recovery) => $call,
            Recovery::Fack($recovery) => $call,
            Recovery::RenoSack($recovery) => $call,
        }
    };
}

impl Recovery {
    /// Whether the recovery looks at each segment that an ACK reports.
    pub fn watches_deliveries(&self) -> bool {
        matches!(self, Recovery::Rack(_) | Recovery::Fack(_))
    }

    #[inline(never)] // so that the registers that the larger recoveries need are not saved for the small ones
    fn on_new_ack_of_others(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        each!(self, recovery => recovery.on_new_ack(core, ack, now, out))
    }

    #[inline(never)]
    fn send_of_others(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        each!(self, recovery => recovery.send(core, now, out))
    }
}

impl LossRecovery for Recovery {
    #[inline]
    fn on_delivered(&mut self, segment: &Segment, packet: &Packet, now: Time) {
        each!(self, recovery => recovery.on_delivered(segment, packet, now))
    }

    #[inline(always)]
    fn on_arrival(&mut self, core: &mut Core, packet: &Packet, acked: u64) {
        if let Recovery::Rack(rack) = self {
            rack.on_arrival(core, packet, acked); // the only one that has a use for it
        }
    }

    #[inline(never)]
    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) {
        each!(self, recovery => recovery.on_duplicate_ack(core, ack, now, out))
    }

    #[inline(always)]
    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        match self {
            Recovery::Reno(reno) => reno.on_new_ack(core, ack, now, out),
            _ => self.on_new_ack_of_others(core, ack, now, out),
        }
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        each!(self, recovery => recovery.on_timeout(core, now))
    }

    #[inline(always)]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Recovery::Rack(rack) => rack.next_timeout(), // the only one with a timer of its own
            _ => None,
        }
    }

    #[inline(never)]
    fn on_timer(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        each!(self, recovery => recovery.on_timer(core, now, out))
    }

    fn hold(&mut self, holds: bool) {
        each!(self, recovery => recovery.hold(holds))
    }

    fn keeps_board(&self) -> bool {
        each!(self, recovery => recovery.keeps_board())
    }

    fn on_spurious(&mut self, core: &mut Core) {
        each!(self, recovery => recovery.on_spurious(core))
    }

    #[inline(always)]
    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self {
            Recovery::Reno(reno) => reno.send(core, now, out),
            _ => self.send_of_others(core, now, out),
        }
    }

    fn resume(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        each!(self, recovery => recovery.resume(core, now, out))
    }

    #[inline]
    fn is_recovering(&self) -> bool {
        each!(self, recovery => recovery.is_recovering())
    }
}

/// Keeps duplicate ACKs of data that was sent before the last loss was found from starting another fast retransmit
/// (RFC 2582 §5, RFC 6582 §3.2; for Tahoe and Reno as `bugFix_` of ns-2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    bug_fix: BugFix,
    /// `recover`: everything below had been sent when the last loss was found.
    recover: u64,
}

impl Guard {
    fn new(bug_fix: BugFix) -> Self {
        Guard { bug_fix, recover: 0 }
    }

    /// Remembers what was sent when a loss is found.
    fn set(&mut self, core: &Core) {
        self.recover = core.snd_max;
    }

    /// Whether duplicate ACKs at SND.UNA may start a fast retransmit.
    fn allows(&self, core: &Core) -> bool {
        match self.bug_fix {
            BugFix::Off => true,
            BugFix::LessCareful => core.snd_una >= self.recover,
            BugFix::Careful => core.snd_una > self.recover,
        }
    }
}

//! SDU discard with explicit signalling, the transmitter's part: TS 25.322 §11.6.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::time::{Span, Time};

use crate::rlc::pdu::SuperField;
use crate::rlc::sn::Sn;

/// The request to move the receiving window, and what has come of it.
#[derive(Clone, Debug)]
pub struct Discarder {
    timer: Span,
    /// MaxMRW.
    most: u32,
    active: Option<Request>,
}

/// An MRW SUFI that was not answered.
#[derive(Clone, Copy, Debug)]
struct Request {
    target: Target,
    beyond_window: bool,
    /// VT(MRW).
    vt_mrw: u32,
    /// Timer_MRW: when it expires; none while the SUFI waits to be sent.
    expires: Option<Time>,
}

/// Up to where the receiver is to forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// SN_MRW as a count: all PDUs before it are discarded.
    pub sn: u64,
    /// N_LENGTH: how many SDUs that end in that PDU are discarded besides.
    pub n: u8,
}

impl Discarder {
    /// No discard is going on.
    pub fn new(timer: Span, most: u8) -> Self {
        Discarder { timer, most: u32::from(most), active: None }
    }

    /// Takes other settings over for what comes next.
    pub fn set_settings(&mut self, timer: Span, most: u8) {
        (self.timer, self.most) = (timer, u32::from(most));
    }

    /// Ends what is going on, without an answer.
    pub fn reset(&mut self) {
        self.active = None;
    }

    /// Whether a request was not answered yet.
    pub fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// Begins to ask for `target`; no other request is going on (§11.6.2).
    pub fn begin(&mut self, target: Target, beyond_window: bool) {
        debug_assert!(self.active.is_none(), "one request at a time");
        self.active = Some(Request { target, beyond_window, vt_mrw: 0, expires: None });
    }

    /// Whether the SUFI waits to be sent.
    pub fn is_due(&self) -> bool {
        self.active.is_some_and(|request| request.expires.is_none())
    }

    /// Sends the SUFI.
    pub fn submit(&mut self, now: Time, out: &mut Outbox) -> Option<SuperField> {
        let timer = self.timer;
        let request = self.active.as_mut().filter(|request| request.expires.is_none())?;
        request.expires = Some(now + timer);
        let Request { target: Target { sn, n }, beyond_window, vt_mrw, .. } = *request;
        let fact = Fact::new(FactKind::DiscardRequested, FlowId::NONE).about(sn, 0);
        out.fact(fact.values(u64::from(vt_mrw) + 1, u64::from(n)));
        Some(SuperField::MoveReceivingWindow { sns: vec![Sn::of(sn).get()], beyond_window, n })
    }

    /// An MRW_ACK SUFI arrives. True when it ends the procedure (§11.6.4).
    pub fn on_answer(&mut self, sn_ack: u64, n: u8) -> bool {
        let ends = self.active.is_some_and(|Request { target, .. }| {
            (sn_ack > target.sn && n == 0) || (sn_ack == target.sn && n == target.n)
        });
        if ends {
            self.active = None;
        }
        ends
    }

    /// All PDUs below `vt_a` are acknowledged, which ends the procedure when no other remains (§11.6.4).
    pub fn on_acknowledged(&mut self, vt_a: u64) -> bool {
        let ends = self.active.is_some_and(|request| vt_a >= request.target.sn);
        if ends {
            self.active = None;
        }
        ends
    }

    /// Timer_MRW has come due. False when the request was sent MaxMRW times, so that the entities are to be reset
    /// (§11.6.5).
    pub fn on_timeout(&mut self, now: Time) -> bool {
        let Some(request) = self.active.as_mut().filter(|request| request.expires.is_some_and(|due| due <= now)) else {
            return true;
        };
        request.vt_mrw += 1;
        request.expires = None;
        let goes_on = request.vt_mrw < self.most;
        if !goes_on {
            self.active = None;
        }
        goes_on
    }

    /// When Timer_MRW expires.
    pub fn next_timeout(&self) -> Option<Time> {
        self.active.and_then(|request| request.expires)
    }
}

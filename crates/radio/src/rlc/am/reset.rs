//! The RLC reset procedure, TS 25.322 §11.4.

use cellwind_engine::time::{Span, Time};

use crate::rlc::pdu::Reset;

/// RESET PDUs sent and received.
#[derive(Clone, Debug)]
pub struct Resetter {
    timer: Span,
    /// MaxRST.
    most: u32,
    /// VT(RST): how often a RESET PDU was scheduled since the last answer.
    vt_rst: u32,
    /// The sequence number of the next new RESET PDU.
    next_rsn: bool,
    pending: Option<Pending>,
    /// The last RESET PDU received: its sequence number, and what answered it.
    answered: Option<Reset>,
    /// Whether that answer waits to be sent.
    answer_is_due: bool,
}

/// The RESET PDU that was not answered yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    rsn: bool,
    hfn: u64,
    /// Timer_RST: when it expires; none while the PDU waits to be sent.
    expires: Option<Time>,
}

impl Resetter {
    /// No reset is going on.
    pub fn new(timer: Span, most: u8) -> Self {
        let most = u32::from(most);
        let (vt_rst, next_rsn, answer_is_due) = (0, false, false);
        Resetter { timer, most, vt_rst, next_rsn, pending: None, answered: None, answer_is_due }
    }

    /// Takes other settings over for what comes next.
    pub fn set_settings(&mut self, timer: Span, most: u8) {
        (self.timer, self.most) = (timer, u32::from(most));
    }

    /// Whether the entity is in the state RESET_PENDING (§9.3.3.3).
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a RESET or RESET ACK PDU waits to be sent.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.answer_is_due || self.pending.is_some_and(|pending| pending.expires.is_none())
    }

    /// Initiates a reset, unless one is going on (§11.4.2). False when that is one time too many.
    pub fn initiate(&mut self, hfn: u64) -> bool {
        if self.pending.is_some() {
            return true;
        }
        self.vt_rst += 1;
        if self.vt_rst >= self.most {
            return false;
        }
        self.pending = Some(Pending { rsn: self.next_rsn, hfn, expires: None });
        self.next_rsn = !self.next_rsn;
        true
    }

    /// The hyper frame number in the RESET PDU that was not answered yet.
    pub fn pending_hfn(&self) -> Option<u64> {
        self.pending.map(|pending| pending.hfn)
    }

    /// VT(RST).
    pub fn attempts(&self) -> u64 {
        self.vt_rst.into()
    }

    /// Sends a RESET ACK PDU that is due.
    pub fn submit_answer(&mut self) -> Option<Reset> {
        let answer = self.answered.filter(|_| self.answer_is_due);
        self.answer_is_due = false;
        answer
    }

    /// Sends a RESET PDU that is due.
    pub fn submit(&mut self, now: Time) -> Option<Reset> {
        let timer = self.timer;
        let pending = self.pending.as_mut().filter(|pending| pending.expires.is_none())?;
        pending.expires = Some(now + timer);
        Some(Reset { rsn: pending.rsn, hfni: hfni(pending.hfn) })
    }

    /// A RESET PDU has arrived. True when the entity is to be reset, for which `hfn` is the hyper frame number of its
    /// transmitter; a repeated PDU is only answered again (§11.4.3).
    pub fn on_reset(&mut self, reset: Reset, hfn: u64) -> bool {
        let is_new = self.answered.is_none_or(|answered| answered.rsn != reset.rsn);
        if is_new {
            self.answered = Some(Reset { rsn: reset.rsn, hfni: hfni(hfn) });
        }
        self.answer_is_due = true;
        is_new
    }

    /// A RESET ACK PDU has arrived. The hyper frame number of the own transmitter when it answers what was asked (§11.4.4).
    pub fn on_answer(&mut self, answer: Reset) -> Option<u64> {
        let pending = self.pending.take_if(|pending| pending.rsn == answer.rsn && pending.expires.is_some())?;
        self.vt_rst = 0;
        Some(pending.hfn)
    }

    /// Timer_RST has come due. False when RESET PDUs were sent as often as they may (§11.4.5.1).
    pub fn on_timeout(&mut self, now: Time) -> bool {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.expires.is_some_and(|due| due <= now))
        else {
            return true;
        };
        self.vt_rst += 1;
        pending.expires = None;
        self.vt_rst < self.most
    }

    /// Begins anew, with what was asked and answered forgotten (§9.7.7).
    pub fn re_establish(&mut self) {
        *self = Resetter { timer: self.timer, most: self.most, ..Resetter::new(self.timer, 1) };
    }

    /// When Timer_RST expires.
    pub fn next_timeout(&self) -> Option<Time> {
        self.pending.and_then(|pending| pending.expires)
    }
}

/// The twenty bits of a hyper frame number that travel (§9.2.2.14).
fn hfni(hfn: u64) -> u32 {
    (hfn & 0xF_FFFF) as u32
}

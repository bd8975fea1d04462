//! The polling function of the transmitter, TS 25.322 §9.7.1.

use cellwind_engine::fact::{Fact, FactKind};
use cellwind_engine::machine::Outbox;
use cellwind_engine::packet::FlowId;
use cellwind_engine::time::{Span, Time};

use super::earlier;
use crate::rlc::settings::PollSettings;
use crate::rlc::sn::Sn;
use crate::rlc::{Pdu, Run};

/// When the transmitter polls.
#[derive(Clone, Debug)]
pub struct Poller {
    settings: PollSettings,
    timer: Option<Span>,
    prohibit: Option<Span>,
    periodic: Option<Span>,
    /// Whether a trigger looks at each PDU.
    looks_at_each: bool,
    /// VT(PDU): PDUs sent since the last poll that this count triggered.
    vt_pdu: u32,
    /// VT(SDU): SDUs begun since the last poll that this count triggered.
    vt_sdu: u32,
    /// Whether the SDU that is being laid shall be polled for at its end.
    polls_at_end: bool,
    /// Counts of the PDUs laid just now that are to be polled with, as an SDU ends in them.
    ends: Vec<u64>,
    /// Whether a poll is due that no PDU has carried yet.
    is_due: bool,
    /// Timer_Poll: when it expires, and VT(S) after the poll was submitted.
    timer_poll: Option<(Time, u64)>,
    /// Timer_Poll_Prohibit: until when polling is prohibited.
    prohibited_until: Option<Time>,
    /// Timer_Poll_Periodic: when it expires.
    periodic_at: Option<Time>,
}

/// Where the window stands, for the triggers that look at it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// VT(A).
    pub vt_a: u64,
    /// VT(S) before the PDUs at hand.
    pub vt_s: u64,
    /// VT(WS).
    pub vt_ws: u64,
}

/// PDUs with consecutive numbers that go to the lower layer.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    /// Count of the first.
    pub first: u64,
    /// Count behind the last.
    pub end: u64,
    /// Whether they were sent before.
    pub resent: bool,
    /// Whether the last of them is the last one that there is to be sent, or resent.
    pub is_last: bool,
    /// Where the window stood before.
    pub window: Window,
}

impl Poller {
    /// A poller that is created at `now`.
    pub fn new(now: Time, settings: &PollSettings) -> Self {
        let mut poller = Poller {
            settings: settings.clone(),
            timer: None,
            prohibit: None,
            periodic: None,
            looks_at_each: false,
            vt_pdu: 0,
            vt_sdu: 0,
            polls_at_end: false,
            ends: Vec::new(),
            is_due: false,
            timer_poll: None,
            prohibited_until: None,
            periodic_at: None,
        };
        poller.set_settings(now, settings);
        poller
    }

    /// Takes other settings over (§9.7.9); timers that run go on.
    pub fn set_settings(&mut self, now: Time, settings: &PollSettings) {
        let periodic = settings.periodic.span();
        if periodic != self.periodic {
            // §9.5 e): it starts when the entity is created.
            self.periodic_at = periodic.map(|period| now + period);
        }
        self.settings = settings.clone();
        self.periodic = periodic;
        self.timer = settings.timer.span();
        self.prohibit = settings.prohibit.span();
        self.looks_at_each = settings.every_pdus.is_some() || settings.window.is_some();
        self.vt_pdu = self.vt_pdu.min(u32::from(settings.every_pdus.unwrap_or(1)) - 1);
        self.vt_sdu = self.vt_sdu.min(u32::from(settings.every_sdus.unwrap_or(1)) - 1);
    }

    /// Back to the initial state, as after a reset; Timer_Poll_Periodic goes on (§11.4.3).
    pub fn reset(&mut self) {
        (self.vt_pdu, self.vt_sdu, self.polls_at_end, self.is_due) = (0, 0, false, false);
        self.timer_poll = None;
        self.prohibited_until = None;
    }

    /// An SDU begins to be laid.
    #[inline]
    pub fn begin_sdu(&mut self) {
        if let Some(every) = self.settings.every_sdus {
            self.vt_sdu += 1;
            // §9.4 g): the poll goes with the end of the SDU.
            if self.vt_sdu >= u32::from(every) {
                self.vt_sdu = 0;
                self.polls_at_end = true;
            }
        }
    }

    /// The SDU that was being laid ends in the PDU with this count.
    #[inline]
    pub fn end_sdu(&mut self, count: u64) {
        if std::mem::take(&mut self.polls_at_end) {
            self.ends.push(count);
        }
    }

    /// The SDU that was being laid is discarded before its end.
    pub fn abandon_sdu(&mut self) {
        self.polls_at_end = false;
    }

    /// Whether a poll is due and may be sent.
    #[inline]
    pub fn may_poll(&self, now: Time) -> bool {
        self.is_due && !self.is_prohibited(now)
    }

    /// There is nothing to poll for any more (§9.7.1: the function is not initiated).
    pub fn cancel(&mut self) {
        self.is_due = false;
    }

    /// There is data again at `now`, after a time without any: a poll whose prohibition ended in it is not made up for.
    pub fn resume(&mut self, now: Time) {
        self.is_due &= self.is_prohibited(now);
        self.catch_up(now);
    }

    #[inline]
    fn is_prohibited(&self, now: Time) -> bool {
        self.prohibited_until.is_some_and(|until| now < until)
    }

    /// Submits PDUs, with the polling bit where it belongs.
    pub fn submit(&mut self, now: Time, pdus: Submission, batch: &mut Vec<Pdu>, out: &mut Outbox) {
        let Submission { mut first, end, resent, window, .. } = pdus;
        if !self.looks_at_each && !self.is_due && !pdus.is_last && self.ends.is_empty() {
            let count = (end - first) as u16;
            batch.push(Pdu::Data(Run { first: Sn::of(first), count, poll: false, resent }));
            return;
        }
        while first < end {
            let triggered = self.next_trigger(now, Submission { first, ..pdus });
            // §9.7.1: a poll is delayed to the end of the prohibition, and several make one.
            let polled = triggered.filter(|_| !self.is_prohibited(now));
            self.is_due |= triggered.is_some();
            let until = polled.map_or(end, |polled| polled + 1);
            self.count_pdus(until - first);
            let count = (until - first) as u16;
            batch.push(Pdu::Data(Run { first: Sn::of(first), count, poll: polled.is_some(), resent }));
            if let Some(polled) = polled {
                self.on_submitted(now, if resent { window.vt_s } else { until });
                out.fact(Fact::new(FactKind::PollSent, FlowId::NONE).about(polled, 0).values(u64::from(resent), 0));
            }
            first = until;
        }
        self.ends.clear();
    }

    /// A poll was submitted; `vt_s` is VT(S) behind it.
    fn on_submitted(&mut self, now: Time, vt_s: u64) {
        self.is_due = false;
        self.prohibited_until = self.prohibit.map(|span| now + span);
        // §9.5 a): started or restarted.
        self.timer_poll = self.timer.map(|span| (now + span, vt_s));
    }

    fn count_pdus(&mut self, count: u64) {
        if let Some(every) = self.settings.every_pdus {
            self.vt_pdu = ((u64::from(self.vt_pdu) + count) % u64::from(every)) as u32;
        }
    }

    /// The first of some PDUs that a trigger asks to poll with.
    #[inline]
    fn next_trigger(&self, now: Time, pdus: Submission) -> Option<u64> {
        let Submission { first, end, resent, is_last, window } = pdus;
        let settings = &self.settings;
        let mut polled = end;
        if self.may_poll(now) {
            polled = first;
        }
        // §9.7.1, triggers 1 and 2.
        if is_last && (if resent { settings.last_retransmitted_pdu } else { settings.last_pdu }) {
            polled = polled.min(end - 1);
        }
        // Trigger 4.
        if let Some(every) = settings.every_pdus {
            polled = polled.min(first + u64::from(u32::from(every) - self.vt_pdu) - 1);
        }
        // Trigger 5.
        if let Some(&ends) = self.ends.iter().find(|&&count| count >= first) {
            polled = polled.min(ends);
        }
        // Trigger 6, §9.6 d): (VT(S) + 1 - VT(A)) / VT(WS) of a new PDU, which spans from the first unacknowledged PDU to
        // that one. differs: for a PDU that is resent, to the last one sent, as the formula would count one not sent yet.
        if let Some(percent) = settings.window {
            let span = (u64::from(percent) * window.vt_ws).div_ceil(100);
            if resent {
                polled = if window.vt_s - window.vt_a >= span { first } else { polled };
            } else {
                polled = polled.min(first.max((window.vt_a + span).saturating_sub(1)));
            }
        }
        (polled < end).then_some(polled)
    }

    /// Timer_Poll stops when all below the VT(S) it remembers is acknowledged (§9.5 a).
    #[inline]
    pub fn on_acknowledged(&mut self, vt_a: u64) {
        self.timer_poll = self.timer_poll.filter(|&(_, vt_s)| vt_a < vt_s);
    }

    /// It also stops when the last PDU below that VT(S) is acknowledged negatively.
    #[inline]
    pub fn on_missing(&mut self, count: u64) {
        self.timer_poll = self.timer_poll.filter(|&(_, vt_s)| vt_s - 1 != count);
    }

    /// Timers that have come due; `has_data` tells whether there is something to send or unacknowledged.
    pub fn on_timeout(&mut self, now: Time, has_data: bool) {
        self.prohibited_until = self.prohibited_until.filter(|&until| until > now);
        if self.timer_poll.is_some_and(|(due, _)| due <= now) {
            // §9.5 a): polled once more; the timer starts again with that poll.
            self.timer_poll = None;
            self.is_due |= has_data;
        }
        if self.periodic_at.is_some_and(|due| due <= now) {
            self.is_due |= has_data;
            self.catch_up(now);
        }
    }

    /// Puts Timer_Poll_Periodic to its next expiry behind `now`; those before found nothing to poll for.
    fn catch_up(&mut self, now: Time) {
        if let (Some(due), Some(period)) = (self.periodic_at, self.periodic)
            && due <= now
        {
            let missed = now.since(due).as_nanos() / period.as_nanos() + 1;
            self.periodic_at = Some(due + period * missed);
        }
    }

    /// When a timer makes a difference next.
    pub fn next_timeout(&self, has_data: bool, has_unacknowledged: bool) -> Option<Time> {
        let timer = self.timer_poll.map(|(due, _)| due);
        let periodic = self.periodic_at.filter(|_| has_data);
        let prohibited = self.prohibited_until.filter(|_| self.is_due && has_unacknowledged);
        earlier(earlier(timer, periodic), prohibited)
    }
}

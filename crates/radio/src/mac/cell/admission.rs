//! Admission control: which terminals may have a dedicated channel, by their allocation/retention priority.

/// The terminals that hold a dedicated channel, and the capacity they can count on.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// In the order of their admission.
    holders: Vec<Holder>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Holder {
    terminal: u32,
    retention: u8,
    /// The part of the cell that it can count on.
    needs: f64,
}

/// Sums of parts of the cell differ by less than this from rounding.
const NOTHING: f64 = 1e-9;

impl Admission {
    /// Admits a terminal that needs a part of the cell, of which `free` is there for all, or says that it cannot.
    ///
    /// TS 23.107 §6.4.3†: where it does not fit, those of lower priority give way, the lowest first and of these the last that
    /// came; their numbers are added to `preempted`. Nobody gives way when that would not be enough.
    pub fn admit(&mut self, terminal: u32, retention: u8, needs: f64, free: f64, preempted: &mut Vec<u32>) -> bool {
        debug_assert!(self.holders.iter().all(|holder| holder.terminal != terminal), "{terminal} is admitted twice");
        let stay = self.holders.iter().filter(|holder| holder.retention <= retention);
        let kept: f64 = stay.map(|holder| holder.needs).sum();
        if kept + needs > free + NOTHING {
            return false;
        }
        self.squeeze(free - needs, preempted);
        self.holders.push(Holder { terminal, retention, needs });
        true
    }

    /// Takes dedicated channels away until the rest fits into `free`, and adds whose they were to `preempted`.
    pub fn squeeze(&mut self, free: f64, preempted: &mut Vec<u32>) {
        while self.used() > free + NOTHING {
            // Of equals, the last is the largest.
            let ranks = self.holders.iter().enumerate().max_by_key(|(_, holder)| holder.retention);
            let Some((place, _)) = ranks else { return };
            preempted.push(self.holders.remove(place).terminal);
        }
    }

    /// The terminal has no dedicated channel any more.
    pub fn release(&mut self, terminal: u32) {
        self.holders.retain(|holder| holder.terminal != terminal);
    }

    /// Whether nobody holds a dedicated channel.
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty()
    }

    /// Another need or priority of a terminal, if it holds a channel.
    pub fn set(&mut self, terminal: u32, retention: u8, needs: f64) {
        if let Some(holder) = self.holders.iter_mut().find(|holder| holder.terminal == terminal) {
            (holder.retention, holder.needs) = (retention, needs);
        }
    }

    fn used(&self) -> f64 {
        self.holders.iter().map(|holder| holder.needs).sum()
    }
}

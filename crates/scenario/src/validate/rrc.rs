//! Checks of the RRC states, and of the cell that terminals share.

use cellwind_engine::directions::Direction;
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_radio::mac::cell::settings::{CallSettings, CellSettings};
use cellwind_radio::mac::scheduler::settings::Discipline;
use cellwind_radio::rrc::settings::{DchSettings, RateSwitching, RrcSettings};
use cellwind_radio::umts::settings::{UmtsSettings, channels};

use super::out_of_range;
use super::umts::{Found, Keys, TTIS};
use crate::error::{Mistake, ScenarioError};

/// The least time between events that come again and again by themselves.
const LEAST_INTERVAL: Span = Span::from_millis(1);

/// Checks what both directions of an access have in common.
pub fn shared(umts: &UmtsSettings) -> Result<(), Found> {
    if let Some(rrc) = &umts.shared.rrc {
        check_rrc(rrc, umts)?;
    }
    match &umts.shared.cell {
        Some(cell) => check_cell(cell, umts),
        None => Ok(()),
    }
}

fn check_rrc(rrc: &RrcSettings, umts: &UmtsSettings) -> Result<(), Found> {
    if let Some(reselection) = rrc.reselection {
        comes_again(&[&["rrc", "reselection", "interval"]], reselection.interval)?;
        if reselection.interval.mean() <= reselection.gap {
            let keys: Keys =
                &[&["rrc", "reselection", "interval"], &["rrc", "reselection", "gap"], &["rrc", "reselection"]];
            let message = "the next cell reselection begins before the gap of the last one is over, so that nothing is ever sent in CELL_FACH";
            let error = ScenarioError::new(Mistake::Conflict, message)
                .found(format!("{} from one to the next", reselection.interval))
                .allowed(format!("a mean above the gap of {}", reselection.gap));
            return Err((keys, error));
        }
    }
    for direction in Direction::BOTH {
        dch(rrc.dch.get(direction))?;
        let own = umts.directions.get(direction);
        if let Some(switching) = &rrc.dch.get(direction).switching {
            rates(switching, umts, direction)?;
        }
        let common: Keys = match direction {
            Direction::Down => &[&["rrc", "fach"], &["rrc"]],
            Direction::Up => &[&["rrc", "rach"], &["rrc"]],
        };
        for (place, channel) in rrc.channels(direction).enumerate() {
            let keys = if place == 0 { common } else { DCH };
            if !TTIS.contains(&channel.tti) {
                let found = format!("{} in the channel of {}", channel.tti, channel.rate);
                return Err((keys, out_of_range(found, "10 ms, 20 ms, 40 ms or 80 ms (TS 25.302)")));
            }
            if own.format_on(channel).is_none() {
                let error =
                    ScenarioError::new(Mistake::PduTooLarge, "the PDU does not fit into a TTI of every channel")
                        .found(format!("{} for {}", channel.rate, channel.tti))
                        .allowed(format!(
                            "at least {} in each TTI, the payload of a PDU of {} (TS 25.302)",
                            Size::from_bytes(own.payload()),
                            own.pdu
                        ));
                return Err((keys, error));
            }
        }
    }
    Ok(())
}

fn dch(dch: &DchSettings) -> Result<(), Found> {
    let least = Span::from_millis(10);
    if !dch.pending_time.is_zero() && dch.pending_time < least {
        let keys: Keys = &[
            &["rrc", "dch", "pending_time"],
            &["rrc", "dch", "down", "pending_time"],
            &["rrc", "dch", "up", "pending_time"],
        ];
        let allowed = format!("0 s, or at least {least} (TS 25.331 §14.4.2)");
        return Err((keys, out_of_range(dch.pending_time, &allowed)));
    }
    if let Some(oscillation) = dch.oscillation
        && (oscillation.fast_for < LEAST_INTERVAL || oscillation.slow_for < LEAST_INTERVAL)
    {
        let keys: Keys = &[
            &["rrc", "dch", "oscillation"],
            &["rrc", "dch", "down", "oscillation"],
            &["rrc", "dch", "up", "oscillation"],
        ];
        let found = format!("`fast_for` of {} and `slow_for` of {}", oscillation.fast_for, oscillation.slow_for);
        return Err((keys, out_of_range(found, &format!("at least {LEAST_INTERVAL} each"))));
    }
    Ok(())
}

const DCH: Keys = &[&["rrc", "dch", "down"], &["rrc", "dch", "up"], &["rrc", "dch"]];

const SWITCHING: Keys =
    &[&["rrc", "dch", "switching"], &["rrc", "dch", "down", "switching"], &["rrc", "dch", "up", "switching"]];

fn rates(switching: &RateSwitching, umts: &UmtsSettings, direction: Direction) -> Result<(), Found> {
    let own = umts.directions.get(direction).rate;
    let mut all: Vec<_> = switching.rates.iter().map(|channel| channel.rate).chain([own]).collect();
    all.sort();
    if all.len() < 2 || all.windows(2).any(|pair| pair[0] == pair[1]) {
        let listed: Vec<String> = switching.rates.iter().map(|channel| channel.rate.to_string()).collect();
        let error = ScenarioError::new(Mistake::BadValue, "these are no bit rates to switch between")
            .found(format!("[{}]", listed.join(", ")))
            .allowed(format!("one rate or more, each once, besides the bearer's own of {own}"));
        return Err((SWITCHING, error));
    }
    if switching.downgrade_below > switching.upgrade_above {
        let message = "a traffic volume would ask for an upgrade and a downgrade at once";
        let error = ScenarioError::new(Mistake::Conflict, message)
            .found(format!("`downgrade_below` of {}", switching.downgrade_below))
            .allowed(format!("at most `upgrade_above`, which is {} (TS 25.331 §14.4.2)", switching.upgrade_above));
        return Err((SWITCHING, error));
    }
    Ok(())
}

/// A channel of the wrong speed, in a direction for which it will hardly be meant.
pub fn warnings(umts: &UmtsSettings, direction: Direction) -> Option<String> {
    let oscillation = umts.shared.rrc.as_ref()?.dch.get(direction).oscillation?;
    let (slow, own) = (oscillation.slow.rate, umts.directions.get(direction).rate);
    (slow > own).then(|| {
        format!("the slow channel of `rrc.dch.oscillation`, {slow}, is faster than the fast one, {own} (RFC 3481 §2.7)")
    })
}

fn check_cell(cell: &CellSettings, umts: &UmtsSettings) -> Result<(), Found> {
    let keys: Keys = &[&["cell", "tti"], &["cell"]];
    if !TTIS.contains(&cell.tti) {
        return Err((keys, out_of_range(cell.tti, "10 ms, 20 ms, 40 ms or 80 ms (TS 25.302)")));
    }
    let shortest = Direction::BOTH.iter().flat_map(|&way| channels(umts, way)).map(|channel| channel.tti).min();
    if let Some(shortest) = shortest
        && cell.tti > shortest
    {
        let message = "the cell shares its capacity out less often than a channel sends";
        let error = ScenarioError::new(Mistake::Conflict, message)
            .found(format!("a TTI of {} for the cell", cell.tti))
            .allowed(format!("at most {shortest}, the shortest TTI of a channel"));
        return Err((keys, error));
    }
    if let Discipline::ProportionalFair(fair) = cell.scheduler
        && fair.time_constant < cell.tti
    {
        let keys: Keys = &[&["cell", "scheduler", "time_constant"], &["cell", "scheduler"]];
        return Err((keys, out_of_range(fair.time_constant, &format!("at least a TTI of the cell, {}", cell.tti))));
    }
    if cell.guaranteed.is_some() && umts.shared.rrc.is_none() {
        let message = "without RRC every terminal has its dedicated channel for ever, and nothing is admitted";
        let error = ScenarioError::new(Mistake::Conflict, message)
            .found("`guaranteed`")
            .allowed("no `guaranteed`, or a table [access.NAME.rrc] beside the cell");
        return Err((&[&["cell", "guaranteed"]], error));
    }
    for direction in Direction::BOTH {
        let capacity = cell.capacity(direction);
        if let Some(guaranteed) = cell.guaranteed.filter(|&rate| rate > capacity) {
            let allowed = format!("at most {capacity}, what the cell carries {}", direction.word());
            let error = out_of_range(guaranteed, &allowed).note("more would admit no terminal to a dedicated channel");
            return Err((&[&["cell", "guaranteed"]], error));
        }
    }
    match &cell.calls {
        Some(calls) => check_calls(calls, cell),
        None => Ok(()),
    }
}

fn check_calls(calls: &CallSettings, cell: &CellSettings) -> Result<(), Found> {
    comes_again(&[&["cell", "calls", "interval"]], calls.interval)?;
    for direction in Direction::BOTH {
        let capacity = cell.capacity(direction);
        if calls.rate > capacity {
            let allowed = format!("at most {capacity}, what the cell carries {}", direction.word());
            return Err((&[&["cell", "calls", "rate"], &["cell", "calls"]], out_of_range(calls.rate, &allowed)));
        }
    }
    Ok(())
}

fn comes_again(keys: Keys, interval: SpanDistribution) -> Result<(), Found> {
    if interval.mean() >= LEAST_INTERVAL {
        return Ok(());
    }
    Err((keys, out_of_range(interval, &format!("a mean of at least {LEAST_INTERVAL}"))))
}

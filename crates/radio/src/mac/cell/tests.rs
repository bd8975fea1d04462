use super::settings::{CallSettings, Decibels};
use super::*;
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::time::Span;
use cellwind_engine::units::Rate;

fn settings() -> CellSettings {
    CellSettings {
        capacity: Rate::from_kbps(960),
        uplink_capacity: None,
        scheduler: Discipline::FairThroughput,
        tti: Span::from_millis(10),
        eb_n0: Decibels::new(5.0).unwrap(),
        guaranteed: None,
        calls: None,
    }
}

fn radio(c_to_i: f64, arp: u8) -> RadioSettings {
    RadioSettings { c_to_i: Decibels::new(c_to_i), thp: None, arp: Some(arp) }
}

fn cell(settings: &CellSettings, terminals: &[RadioSettings]) -> Cell {
    let mut cell = Cell::new(settings, Stream::new(1, 0, "calls"));
    terminals.iter().for_each(|&radio| cell.add(radio, Directions { down: 40, up: 40 }));
    cell
}

/// Blocks that a terminal alone in the cell sends downlink in a second.
fn alone(cell: &mut Cell, terminal: u32) -> u32 {
    let tti = |_| {
        let mut wishes = [Wish { terminal, blocks: 1_000, at_once: 1, ttis: 1, is_ready: true, granted: 0 }];
        cell.share(Direction::Down, 1, &mut wishes);
        wishes[0].granted
    };
    (0..100).map(tti).sum()
}

#[test]
fn the_rate_of_a_terminal_alone_follows_its_c_to_i_up_to_the_capacity() {
    // 3.84 Mbit/s · 10^((C/I - 5) / 10): 384 kbit/s at -5 dB, 768 at about -2 dB, and the capacity of 960 from -1 dB on.
    let settings = settings();
    let rate = |c_to_i| settings.alone(&radio(c_to_i, 15), Direction::Down);
    assert!((rate(-5.0) - 384_000.0).abs() < 1e-6);
    assert!((rate(-1.989_700_043_4) - 768_000.0).abs() < 1.0);
    assert_eq!(rate(-1.0), 960_000.0);
    assert_eq!(settings.alone(&RadioSettings::default(), Direction::Up), 960_000.0);
    let mut cell = cell(&settings, &[radio(-5.0, 15), RadioSettings::default()]);
    assert_eq!((alone(&mut cell, 0), alone(&mut cell, 1)), (1_200, 3_000)); // 384 and 960 kbit/s in blocks of 320 bits
}

#[test]
fn a_full_cell_admits_those_of_higher_priority_at_the_expense_of_the_lowest() {
    // 320 kbit/s each: three fit into 960.
    let guaranteed = CellSettings { guaranteed: Some(Rate::from_kbps(320)), ..settings() };
    let mut cell = cell(&guaranteed, &[5, 7, 7, 7, 6, 5, 15].map(|arp| radio(0.0, arp)));
    let mut preempted = Vec::new();
    let admitted = [0, 1, 2].map(|terminal| cell.admit(terminal, &mut preempted));
    assert_eq!((admitted, &preempted[..]), ([true; 3], &[][..]));
    assert!(!cell.admit(3, &mut preempted), "an equal does not give way");
    assert!(cell.admit(4, &mut preempted));
    assert_eq!(preempted, [2], "of two equals the last gives way");
    assert!(cell.admit(5, &mut preempted));
    assert_eq!(preempted, [2, 1]);
    assert!(!cell.admit(6, &mut preempted));
    cell.release(0);
    assert!(cell.admit(6, &mut preempted));
    assert_eq!(preempted, [2, 1]);
}

#[test]
fn nobody_gives_way_in_vain() {
    // A terminal at -10 dB needs 100 / 121.4 of the cell: the two others would have to go, and one of them stays.
    let guaranteed = CellSettings { guaranteed: Some(Rate::from_kbps(100)), ..settings() };
    let mut cell = cell(&guaranteed, &[radio(0.0, 15), radio(-5.0, 1), radio(-10.0, 2)]);
    let mut preempted = Vec::new();
    assert!(cell.admit(0, &mut preempted) && cell.admit(1, &mut preempted));
    assert!(!cell.admit(2, &mut preempted)); // 0.26 of priority 1 stay, and 0.82 do not fit beside them
    assert!(preempted.is_empty());
    cell.release(1);
    assert!(cell.admit(2, &mut preempted)); // 0.10 + 0.82
    assert!(preempted.is_empty());
}

#[test]
fn calls_take_capacity_and_channels_while_they_last() {
    // A call of 480 kbit/s at 10, 20, … s that lasts 4 s: half of the cell.
    let calls = CallSettings {
        interval: SpanDistribution::Constant(Span::from_secs(10)),
        duration: SpanDistribution::Constant(Span::from_secs(4)),
        rate: Rate::from_kbps(480),
    };
    let settings = CellSettings { guaranteed: Some(Rate::from_kbps(400)), calls: Some(calls), ..settings() };
    let mut cell = cell(&settings, &[RadioSettings::default(), RadioSettings::default()]);
    let mut preempted = Vec::new();
    assert!(cell.admit(0, &mut preempted) && cell.admit(1, &mut preempted));
    assert_eq!(alone(&mut cell, 0), 3_000);
    let mut out = Outbox::new(true);
    assert_eq!(cell.next_timeout(), Some(Time::from_secs(10)));
    cell.on_timeout(Time::from_secs(10), &mut preempted, &mut out);
    assert_eq!(preempted, [1]);
    assert_eq!(alone(&mut cell, 0), 1_500);
    assert_eq!(cell.next_timeout(), Some(Time::from_secs(14)));
    cell.on_timeout(Time::from_secs(14), &mut preempted, &mut out);
    assert_eq!(alone(&mut cell, 0), 3_000);
    assert!(cell.admit(1, &mut preempted));
    let told: Vec<u64> = out.take_facts().into_iter().map(|row| row.fact().a).collect();
    assert_eq!(told, [1, 0]);
}

#[test]
fn calls_are_lost_as_erlang_says() {
    // Five fit; 3 erlang are offered (one each 10 s, of 30 s). B(5, 3) = (3^5 / 5!) / Σ 3^k / k! = 2.025 / 18.4 = 0.1101. Of
    // 60 000 calls the share that is lost deviates by about 0.002, as losses come in bunches; four of them.
    let calls = CallSettings {
        interval: SpanDistribution::Exponential(Span::from_secs(10)),
        duration: SpanDistribution::Exponential(Span::from_secs(30)),
        rate: Rate::from_kbps(180),
    };
    let mut cell = cell(&CellSettings { calls: Some(calls), ..settings() }, &[]);
    let (mut preempted, mut out) = (Vec::new(), Outbox::new(true));
    let (mut lost, mut last) = (0, 0);
    while let Some(due) = cell.next_timeout()
        && due < Time::from_secs(600_000)
    {
        cell.on_timeout(due, &mut preempted, &mut out);
        for fact in out.take_facts().into_iter().map(|row| row.fact()) {
            assert!(fact.a <= 5);
            (lost, last) = (fact.b, fact.b.max(last));
        }
    }
    assert_eq!(lost, last);
    assert!((lost as f64 / 60_000.0 - 0.1101).abs() < 0.008, "{lost}");
}

#[test]
fn other_settings_hold_from_now_on() {
    let guaranteed = |kbps| CellSettings { guaranteed: Some(Rate::from_kbps(kbps)), ..settings() };
    let mut cell = cell(&guaranteed(320), &[radio(0.0, 3), radio(0.0, 2), radio(0.0, 1)]);
    let (mut preempted, mut out) = (Vec::new(), Outbox::new(false));
    assert!((0..3).all(|terminal| cell.admit(terminal, &mut preempted)));
    cell.set_settings(Time::ZERO, &guaranteed(480), &mut preempted, &mut out);
    assert_eq!(preempted, [0]);
    // At -5 dB the terminal alone reaches 384 kbit/s, so that 480 for it are more than the cell has.
    cell.set_terminal(1, radio(-5.0, 2), Directions { down: 40, up: 40 }, &mut preempted);
    assert_eq!(preempted, [0, 1]);
    assert_eq!(alone(&mut cell, 1), 1_200);
}

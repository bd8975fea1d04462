use cellwind_engine::directions::Direction::{Down, Up};
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::fact::FactKind;
use cellwind_engine::machine::Machine;
use cellwind_engine::time::Span;
use cellwind_engine::units::{Probability, Rate, Size};

use crate::mac::cell::settings::{CallSettings, CellSettings, Decibels, RadioSettings};
use crate::mac::scheduler::settings::{Discipline, ProportionalFairSettings};
use crate::rlc::settings::{AmSettings, Discard, RlcSettings, Timer, TmSettings};
use crate::rrc::settings::{Reselection, RrcSettings, RrcState};
use crate::umts::settings::UmtsSettings;
use crate::umts::testkit::{Access, part, settings, stream};
use cellwind_path::errors::settings::ErrorSettings;

fn cell(capacity: u64) -> CellSettings {
    CellSettings {
        capacity: Rate::from_kbps(capacity),
        uplink_capacity: None,
        scheduler: Discipline::FairThroughput,
        tti: Span::from_millis(10),
        eb_n0: Decibels::new(5.0).unwrap(),
        guaranteed: None,
        calls: None,
    }
}

fn with(cell: CellSettings) -> UmtsSettings {
    let mut settings = settings();
    settings.shared.cell = Some(cell);
    settings
}

/// An access in which so much waits for each terminal that it never ends, after a time (ms).
fn saturated(settings: &UmtsSettings, terminals: &[RadioSettings], ms: u64) -> Access {
    let mut access = Access::new(settings, terminals);
    for terminal in 0..terminals.len() as u16 {
        for seq in 0..400 {
            access.send(0, terminal, Down, seq, 1_500);
        }
    }
    access.run(ms);
    access.umts.check().unwrap();
    access
}

fn sent(access: &Access, terminals: u16) -> Vec<u64> {
    (0..terminals).map(|terminal| access.blocks(terminal, Down)).collect()
}

fn radio(c_to_i: f64) -> RadioSettings {
    RadioSettings { c_to_i: Decibels::new(c_to_i), ..RadioSettings::default() }
}

#[test]
fn terminals_share_what_the_cell_carries() {
    // 384 kbit/s are 12 PDUs in 10 ms, of which 1001 have begun after ten seconds; a PDU is nobody's share in full.
    let access = saturated(&with(cell(384)), &[RadioSettings::default(); 5], 10_000);
    let sent = sent(&access, 5);
    assert_eq!(sent.iter().sum::<u64>(), 12_012);
    assert!(sent.iter().all(|&blocks| blocks.abs_diff(12_012 / 5) <= 1), "{sent:?}");
}

#[test]
fn nobody_gets_more_than_its_channel_carries() {
    let access = saturated(&with(cell(2_048)), &[RadioSettings::default(); 2], 1_000);
    assert_eq!(sent(&access, 2), [1_212, 1_212]);
}

#[test]
fn the_discipline_decides_by_c_to_i() {
    // At -5 dB a terminal alone reaches 384 kbit/s, at -8.01 dB half of it.
    let terminals = [radio(-5.0), radio(-5.0 - 3.010_299_957)];
    let shares = |scheduler| sent(&saturated(&with(CellSettings { scheduler, ..cell(960) }), &terminals, 10_000), 2);
    // 1 / (1 / 12 + 1 / 6) = 4 PDUs each in a TTI; a half of the resource: 6 and 3; all to the better one.
    for (scheduler, expected) in [
        (Discipline::FairThroughput, [4_004, 4_004]),
        (Discipline::FairResource, [6_006, 3_003]),
        (Discipline::CI, [12_012, 0]),
        (Discipline::ProportionalFair(ProportionalFairSettings::default()), [6_006, 3_003]),
    ] {
        let shares = shares(scheduler);
        let is_near = |(ours, theirs): (&u64, &u64)| ours.abs_diff(*theirs) <= 60;
        assert!(shares.iter().zip(&expected).all(is_near), "{scheduler:?}: {shares:?} for {expected:?}");
    }
}

#[test]
fn the_terminal_with_the_higher_priority_is_served_first() {
    let terminals = [RadioSettings::default(), RadioSettings { thp: Some(1), ..RadioSettings::default() }];
    let access = saturated(&with(cell(384)), &terminals, 1_000);
    assert_eq!(sent(&access, 2), [0, 1_212]);
}

#[test]
fn a_small_packet_passes_a_full_cell_in_one_tti() {
    // Two PDUs, sent in the TTI that begins next and here at its end, as without the others. With a priority also where
    // five TTIs would not carry a PDU of each of the others.
    let background = RadioSettings::default();
    let first = RadioSettings { thp: Some(1), ..background };
    let poor = radio(-28.0); // 1.9 kbit/s: 17 TTIs for a PDU
    for (crowd, small) in [(vec![background; 8], background), (vec![background; 8], first), (vec![poor; 8], first)] {
        for scheduler in [
            Discipline::FairThroughput,
            Discipline::FairResource,
            Discipline::CI,
            Discipline::ProportionalFair(ProportionalFairSettings::default()),
        ] {
            if scheduler == Discipline::CI && small.thp.is_none() {
                continue; // its turn comes among nine
            }
            let mut access =
                Access::new(&with(CellSettings { scheduler, ..cell(384) }), &[&[small], &crowd[..]].concat());
            for terminal in 1..9 {
                for seq in 0..400 {
                    access.send(0, terminal, Down, seq, 1_500);
                }
            }
            for seq in 1..100 {
                access.send(47 * seq, 0, Down, seq, 60);
            }
            access.run(5_000);
            let sent = (1..100_u64).map(|seq| 47 * seq);
            let waits =
                access.times(0, Down).into_iter().zip(sent).map(|(left, sent)| left - sent.next_multiple_of(10));
            let waits: Vec<_> = waits.collect();
            assert!(waits.len() == 99 && waits.iter().all(|&wait| wait <= 20), "{scheduler:?} {small:?}: {waits:?}");
            assert!(small.thp.is_none() || waits.iter().all(|&wait| wait == 10), "{scheduler:?} {small:?}: {waits:?}");
        }
    }
}

#[test]
fn an_sdu_that_has_to_be_sent_in_one_tti_waits_until_the_cell_carries_it() {
    // Transparent mode: 1500 octets are 38 PDUs, which a TTI of the channel carries, but the cell only 12 in that time.
    let mut settings = with(cell(96));
    for direction in [Down, Up] {
        let bearer = settings.directions.get_mut(direction);
        bearer.tti = Span::from_millis(40);
        bearer.pdu = Size::from_bytes(40);
        bearer.rlc = RlcSettings::Tm(TmSettings {
            segmentation: true,
            discard_timer: Timer::Of(Span::from_secs(100)),
            ..TmSettings::default()
        });
    }
    let mut access = saturated(&settings, &[RadioSettings::default(); 2], 10_000);
    let sent = sent(&access, 2);
    // 3 in each of 1000 TTIs, of which each has half, in SDUs of 38.
    assert!(sent.iter().all(|&sent| sent.is_multiple_of(38) && sent.abs_diff(1_500) <= 2 * 38), "{sent:?}");
    access.run(60_000);
    assert_eq!(access.blocks(0, Down) + access.blocks(1, Down), 60_000 / 10 * 3 / 38 * 38);
}

#[test]
fn a_short_transfer_is_over_before_a_long_one_and_leaves_it_the_rest() {
    let mut access = Access::new(&with(cell(384)), &[RadioSettings::default(); 2]);
    for seq in 0..100 {
        access.send(0, 0, Down, seq, 1_500);
    }
    access.send(0, 1, Down, 0, 1_500);
    access.run(60_000);
    // 38 PDUs at 6 in a TTI: the last in the seventh.
    assert_eq!(access.times(1, Down), [70]);
    // 150 000 octets and 99 length indicators are 3753 PDUs: with the others' 38 they take 316 TTIs.
    assert_eq!(*access.times(0, Down).last().unwrap(), 3_160);
}

#[test]
fn the_uplink_has_a_capacity_of_its_own() {
    let mut access = Access::new(
        &with(CellSettings { uplink_capacity: Some(Rate::from_kbps(64)), ..cell(384) }),
        &[RadioSettings::default()],
    );
    for seq in 0..50 {
        access.send(0, 0, Up, seq, 1_500);
    }
    access.run(5_000);
    assert!((1_000..=1_004).contains(&access.blocks(0, Up)), "{}", access.blocks(0, Up)); // 2 in each TTI
}

#[test]
fn a_call_that_takes_all_blocks_the_data_for_as_long_as_it_lasts() {
    let calls = CallSettings {
        interval: SpanDistribution::Constant(Span::from_secs(4)),
        duration: SpanDistribution::Constant(Span::from_secs(1)),
        rate: Rate::from_kbps(384),
    };
    let access = saturated(&with(CellSettings { calls: Some(calls), ..cell(384) }), &[RadioSettings::default()], 6_000);
    assert_eq!(access.blocks(0, Down), 12 * 501); // 601 TTIs, of which those from 4000 to 4990 are taken
    assert_eq!(access.facts(FactKind::Calls), [(4_000, 1), (5_000, 0)]);
}

#[test]
fn calls_that_nobody_notices_keep_nothing_going() {
    let calls = CallSettings {
        interval: SpanDistribution::Constant(Span::from_secs(4)),
        duration: SpanDistribution::Constant(Span::from_secs(1)),
        rate: Rate::from_kbps(384),
    };
    let mut access = Access::new(&with(CellSettings { calls: Some(calls), ..cell(384) }), &[RadioSettings::default()]);
    access.send(0, 0, Down, 1, 1_000);
    access.run(1_000);
    assert_eq!(access.umts.next_timeout(), None);
    // The call from 40 to 41 s is there all the same.
    access.send(40_500, 0, Down, 2, 1_000);
    access.run(60_000);
    assert_eq!(access.times(0, Down), [30, 41_030]);
}

#[test]
fn a_terminal_of_higher_priority_takes_the_dedicated_channel_of_another() {
    // Room for one channel. Terminal 0 has it at 1000 ms; terminal 1 asks at 2000 and has it at 3000.
    let mut settings = with(CellSettings { guaranteed: Some(Rate::from_kbps(300)), ..cell(384) });
    settings.shared.rrc = Some(RrcSettings::default());
    let arp = |arp| RadioSettings { arp: Some(arp), ..RadioSettings::default() };
    let mut access = Access::new(&settings, &[arp(2), arp(1)]);
    for seq in 0..400 {
        access.send(0, 0, Down, seq, 1_500);
    }
    for seq in 0..400 {
        access.send(2_000, 1, Down, seq, 1_500);
    }
    access.run(5_000);
    let states = access.facts(FactKind::RrcState);
    let (fach, dch) = (RrcState::CellFach as u64, RrcState::CellDch as u64);
    // First the state that each begins in.
    assert_eq!(states, [(0, fach), (1_000, dch), (2_000, fach), (2_000, fach), (3_000, dch)]);
}

#[test]
fn the_cell_comes_and_goes_with_the_settings() {
    let (with_cell, without) = (with(cell(384)), settings());
    let mut access = saturated(&without, &[RadioSettings::default(); 2], 1_000);
    assert_eq!(sent(&access, 2), [1_212, 1_212]);
    access.umts.set_settings(part(0, Down), access.now, &with_cell, &mut access.out);
    access.run(2_000);
    // The TTI at 1000 ms both had begun to send without the cell, which shares out a hundred from then on.
    assert_eq!(sent(&access, 2), [1_812, 1_812]);
    access.umts.set_settings(part(1, Up), access.now, &without, &mut access.out);
    access.run(3_000);
    assert_eq!(sent(&access, 2), [3_012, 3_012]);
}

#[test]
fn a_better_c_to_i_holds_from_the_next_tti_on() {
    let mut access = saturated(&with(cell(384)), &[radio(-8.01)], 1_000);
    assert_eq!(sent(&access, 1), [606]);
    access.umts.set_radio(part(0, Down), access.now, radio(0.0), &mut access.out);
    access.run(2_000);
    assert_eq!(sent(&access, 1), [1_806]);
}

#[test]
fn all_that_enters_leaves_whatever_the_states_the_calls_and_the_settings() {
    // Random packets, errors, reselections, calls, preemptions, spikes and changes of settings; then time to finish.
    for seed in 0..12 {
        let mut chance = stream(&format!("swarm {seed}"));
        let mut settings = with(CellSettings {
            scheduler: [Discipline::FairThroughput, Discipline::FairResource, Discipline::CI][seed % 3],
            guaranteed: Some(Rate::from_kbps(64)),
            calls: Some(CallSettings {
                interval: SpanDistribution::Exponential(Span::from_secs(2)),
                duration: SpanDistribution::Exponential(Span::from_secs(1)),
                rate: Rate::from_kbps(100),
            }),
            ..cell(384)
        });
        settings.shared.rrc = Some(RrcSettings {
            reselection: Some(Reselection {
                interval: SpanDistribution::Exponential(Span::from_secs(4)),
                gap: Span::from_millis(900),
            }),
            dch_inactivity: Span::from_millis(800),
            fach_inactivity: Span::from_millis(900),
            paging_inactivity: Span::from_secs(2),
            ..RrcSettings::default()
        });
        // Acknowledged mode, so that nothing is lost.
        for direction in [Down, Up] {
            let bearer = settings.directions.get_mut(direction);
            bearer.pdu = Size::from_bytes(42);
            bearer.rlc = RlcSettings::Am(AmSettings { discard: Discard::None, ..AmSettings::default() });
        }
        settings.directions.down.errors = ErrorSettings::independent(Probability::new(0.1).unwrap());
        settings.directions.up.tti = Span::from_millis(20);
        let radios: Vec<_> = (0..6)
            .map(|n| RadioSettings { c_to_i: Decibels::new(f64::from(n) - 6.0), thp: None, arp: Some(n as u8 % 3 + 1) })
            .collect();
        let mut access = Access::new(&settings, &radios);
        let (mut ms, mut count) = (0, 0);
        let mut bare = settings.clone();
        (bare.shared.rrc, bare.shared.cell) = (None, None);
        for step in 0..600 {
            ms += if chance.below(20) == 0 { chance.below(5_000) } else { chance.below(60) };
            let terminal = chance.below(6) as u16;
            let direction = if chance.below(3) == 0 { Up } else { Down };
            access.send(ms, terminal, direction, step, 1 + chance.below(1_500) as u32);
            count += 1;
            let now = access.now;
            match chance.below(60) {
                0 => access.umts.hold(part(terminal, direction), &mut access.out),
                1 => access.umts.set_radio(part(terminal, direction), now, radios[0], &mut access.out),
                2 => {
                    let mut other = settings.clone();
                    other.shared.cell = other.shared.cell.filter(|_| chance.below(2) == 0);
                    other.shared.rrc = other.shared.rrc.filter(|_| chance.below(2) == 0);
                    access.umts.set_settings(part(terminal, direction), now, &other, &mut access.out);
                }
                _ => {}
            }
            access.note();
            for terminal in 0..6 {
                if chance.below(10) == 0 {
                    access.umts.release(part(terminal, Down), now, &mut access.out);
                    access.umts.release(part(terminal, Up), now, &mut access.out);
                }
            }
        }
        for terminal in 0..6 {
            access.umts.release(part(terminal, Down), access.now, &mut access.out);
            access.umts.release(part(terminal, Up), access.now, &mut access.out);
        }
        // Each bearer alone with its dedicated channel.
        for part in 0..12 {
            access.umts.set_settings(part, access.now, &bare, &mut access.out);
        }
        access.run(ms + 60_000);
        access.umts.check().unwrap();
        assert_eq!(access.left.len(), count, "seed {seed}");
    }
}

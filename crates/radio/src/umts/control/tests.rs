use cellwind_engine::directions::Direction::{Down, Up};
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::fact::FactKind;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::Rate;

use crate::mac::cell::settings::RadioSettings;
use crate::rrc::settings::{Connected, RateSwitching, Reselection, RrcSettings, RrcState, TransportChannel};
use crate::umts::settings::UmtsSettings;
use crate::umts::testkit::{Access, part, settings};

fn with(rrc: RrcSettings) -> UmtsSettings {
    let mut settings = settings();
    settings.shared.rrc = Some(rrc);
    settings
}

fn access(rrc: RrcSettings) -> Access {
    Access::new(&with(rrc), &[RadioSettings::default()])
}

const CELL_FACH: u64 = RrcState::CellFach as u64;
const CELL_DCH: u64 = RrcState::CellDch as u64;

#[test]
fn little_data_goes_over_the_common_channels() {
    let mut access = access(RrcSettings::default());
    // 60 octets are two PDUs, one in each TTI: of 10 ms down, of 20 ms up.
    access.send(100, 0, Down, 1, 60);
    access.send(100, 0, Up, 2, 60);
    access.run(1_000);
    assert_eq!(access.times(0, Down), [120]);
    assert_eq!(access.times(0, Up), [140]);
    assert_eq!(access.facts(FactKind::RrcState), [(100, CELL_FACH)]);
}

#[test]
fn much_data_goes_on_over_a_dedicated_channel_when_that_is_set_up() {
    let mut access = access(RrcSettings::default());
    for seq in 0..10 {
        access.send(0, 0, Down, seq, 1_500);
    }
    access.run(5_000);
    // 15 000 octets and nine length indicators, as the end of the last SDU takes the tenth: 376 PDUs of 40. A hundred
    // of them go over FACH until 1000 ms, the others in 23 TTIs of 12.
    assert_eq!(access.times(0, Down).len(), 10);
    assert_eq!(access.left.last().unwrap().0, 1_230);
    assert_eq!(access.facts(FactKind::RrcState), [(0, CELL_FACH), (1_000, CELL_DCH)]);
    // The buffer is empty when the last PDUs have left it, at 1220 ms, and the terminal in CELL_FACH five seconds later.
    access.run(7_000);
    assert_eq!(access.facts(FactKind::RrcState)[2..], [(6_220, CELL_FACH)]);
}

#[test]
fn an_idle_terminal_waits_for_its_connection() {
    let rrc = RrcSettings {
        initial: RrcState::Idle,
        connect_to: Connected::CellDch,
        connection_setup: Span::from_millis(900),
        ..RrcSettings::default()
    };
    let mut access = access(rrc);
    access.send(50, 0, Up, 1, 156);
    access.run(5_000);
    assert_eq!(access.times(0, Up), [960]); // 50 + 900, and one TTI
}

#[test]
fn a_reselection_holds_the_common_channels_and_nothing_is_lost() {
    let gap = Span::from_millis(900);
    let interval = SpanDistribution::Constant(Span::from_secs(5));
    let mut access = access(RrcSettings { reselection: Some(Reselection { interval, gap }), ..RrcSettings::default() });
    access.send(4_960, 0, Down, 1, 200); // six PDUs, as their length indicator needs an octet: four before the gap
    access.send(5_100, 0, Up, 2, 30);
    access.run(8_000);
    assert_eq!(access.times(0, Down), [5_920]);
    assert_eq!(access.times(0, Up), [5_920]);
}

#[test]
fn the_rate_and_the_tti_follow_the_volume() {
    let mut rrc = RrcSettings::default();
    rrc.dch.down.switching = Some(RateSwitching { rates: vec![TransportChannel::new(64, 20)], ..toml_defaults() });
    let mut settings = with(rrc);
    settings.directions.down.rate = Rate::from_kbps(128);
    settings.directions.down.tti = Span::from_millis(20);
    let mut access = Access::new(&settings, &[RadioSettings::default()]);
    for seq in 0..100 {
        access.send(0, 0, Down, seq, 1_500);
    }
    access.run(4_000);
    // FACH until 1000, 128 kbit/s from then on, and no rate above it.
    let rates = access.told.iter().filter(|told| told.1.kind == FactKind::ChannelRate && told.1.b == 0);
    let rates: Vec<_> = rates.map(|told| (told.0, told.1.a / 1_000)).collect();
    assert_eq!(rates, [(0, 32), (1_000, 128)]);
    let before = access.blocks(0, Down);
    access.run(5_000);
    assert_eq!(access.blocks(0, Down) - before, 400); // 128 kbit/s in PDUs of 320 bits
}

fn toml_defaults() -> RateSwitching {
    RateSwitching {
        rates: Vec::new(),
        upgrade_above: cellwind_engine::units::Size::from_bytes(1_024),
        downgrade_below: cellwind_engine::units::Size::from_bytes(64),
        downgrade_after: Span::from_millis(2_560),
    }
}

#[test]
fn rrc_comes_and_goes_with_the_settings() {
    let without = settings();
    let mut access = Access::new(&without, &[RadioSettings::default()]);
    for seq in 0..200 {
        access.send(0, 0, Down, seq, 1_500);
    }
    access.run(1_000);
    assert_eq!(access.blocks(0, Down), 1_212); // TTIs at 0, 10, … 1000
    let rrc = with(RrcSettings::default());
    access.umts.set_settings(part(0, Down), access.now, &rrc, &mut access.out);
    access.run(1_900);
    assert_eq!(access.blocks(0, Down), 1_212 + 90); // FACH
    access.umts.set_settings(part(0, Down), Time::from_millis(1_900), &without, &mut access.out);
    access.run(2_900);
    assert_eq!(access.blocks(0, Down), 1_212 + 90 + 1_200);
    access.run(60_000);
    assert_eq!(access.times(0, Down).len(), 200);
}

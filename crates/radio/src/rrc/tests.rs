use super::settings::*;
use super::*;
use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::units::Size;

const OWN: Directions<TransportChannel> =
    Directions { down: TransportChannel::new(64, 20), up: TransportChannel::new(64, 20) };
const FACH: Option<(u64, u64)> = Some((32, 10));
const RACH: Option<(u64, u64)> = Some((16, 20));

/// A terminal, the instants (ms) of what its facts told, and whether the cell admits dedicated channels.
struct Terminal {
    rrc: Rrc,
    out: Outbox,
    told: Vec<(u64, FactKind, u64, u64)>,
    admits: bool,
    asked: u32,
}

impl Terminal {
    fn new(settings: &RrcSettings) -> Self {
        let rrc = Rrc::new(Time::ZERO, settings, OWN, Stream::new(1, 0, "reselection"));
        Terminal { rrc, out: Outbox::new(true), told: Vec::new(), admits: true, asked: 0 }
    }

    fn state(&self) -> RrcState {
        self.rrc.state()
    }

    /// Rate in kbit/s and TTI in ms at `ms`.
    fn channel(&self, ms: u64, direction: Direction) -> Option<(u64, u64)> {
        let channel = self.rrc.channel(Time::from_millis(ms), direction);
        channel.map(|channel| (channel.rate.as_bps() / 1_000, channel.tti.as_nanos() / 1_000_000))
    }

    fn note(&mut self, now: Time) {
        for fact in self.out.take_facts().into_iter().map(|row| row.fact()) {
            self.told.push((now.as_nanos() / 1_000_000, fact.kind, fact.a, fact.b));
        }
    }

    /// Lets all that is due up to `ms` happen at its own instant.
    fn run(&mut self, ms: u64) {
        while let Some(due) = self.rrc.next_timeout()
            && due <= Time::from_millis(ms)
        {
            self.rrc.on_timeout(due, &mut admission(self.admits, &mut self.asked), &mut self.out);
            self.note(due);
        }
    }

    /// From `ms` on so many octets wait.
    fn volume(&mut self, ms: u64, direction: Direction, octets: u64) {
        self.run(ms);
        let now = Time::from_millis(ms);
        self.rrc.on_volume(now, direction, octets, &mut admission(self.admits, &mut self.asked), &mut self.out);
        self.note(now);
    }

    /// When (ms) the terminal entered which state.
    fn states(&self) -> Vec<(u64, u64)> {
        let states = self.told.iter().filter(|told| told.1 == FactKind::RrcState);
        states.map(|&(ms, _, state, _)| (ms, state)).collect()
    }

    /// When (ms) the rate (kbit/s) of a direction became another.
    fn rates(&self, direction: Direction) -> Vec<(u64, u64)> {
        let rates = self.told.iter().filter(|told| told.1 == FactKind::ChannelRate && told.3 == direction as u64);
        rates.map(|&(ms, _, rate, _)| (ms, rate / 1_000)).collect()
    }
}

fn admission(admits: bool, asked: &mut u32) -> impl FnMut() -> bool + '_ {
    move || {
        *asked += 1;
        admits
    }
}

fn settings() -> RrcSettings {
    RrcSettings::default()
}

fn switching() -> RrcSettings {
    let mut settings = settings();
    settings.dch.down.switching = Some(RateSwitching {
        rates: vec![TransportChannel::new(384, 10), TransportChannel::new(128, 20), TransportChannel::new(32, 20)],
        upgrade_above: Size::from_bytes(1024),
        downgrade_below: Size::from_bytes(64),
        downgrade_after: Span::from_millis(2560),
    });
    settings
}

const IDLE: u64 = RrcState::Idle as u64;
const CELL_PCH: u64 = RrcState::CellPch as u64;
const CELL_FACH: u64 = RrcState::CellFach as u64;
const CELL_DCH: u64 = RrcState::CellDch as u64;

#[test]
fn more_than_the_threshold_takes_a_second_to_a_dedicated_channel_and_data_goes_on_meanwhile() {
    let mut terminal = Terminal::new(&settings());
    terminal.volume(100, Direction::Down, 250); // not above 250
    terminal.run(1_000);
    assert!(!terminal.rrc.holds_dch());
    terminal.volume(1_000, Direction::Down, 251);
    assert!(terminal.rrc.holds_dch());
    terminal.run(1_999);
    assert_eq!(terminal.channel(1_999, Direction::Down), FACH);
    assert_eq!(terminal.channel(1_999, Direction::Up), RACH);
    terminal.run(2_000);
    assert_eq!(terminal.channel(2_000, Direction::Down), Some((64, 20)));
    assert_eq!(terminal.states(), [(100, CELL_FACH), (2_000, CELL_DCH)]);
    assert_eq!(terminal.rates(Direction::Down), [(100, 32), (2_000, 64)]);
}

#[test]
fn the_uplink_asks_for_a_dedicated_channel_as_well() {
    let mut terminal = Terminal::new(&settings());
    terminal.volume(0, Direction::Up, 400);
    terminal.run(2_000);
    assert_eq!(terminal.states(), [(0, CELL_FACH), (1_000, CELL_DCH)]);
}

#[test]
fn inactivity_leads_down_to_idle_step_by_step() {
    // DCH at 1000; empty from 3000: FACH 5 s later, CELL_PCH after 12 s more, idle after half an hour more.
    let mut terminal = Terminal::new(&settings());
    terminal.volume(0, Direction::Down, 1_000);
    terminal.volume(3_000, Direction::Down, 0);
    terminal.run(10_000_000);
    let states = [(0, CELL_FACH), (1_000, CELL_DCH), (8_000, CELL_FACH), (20_000, CELL_PCH), (1_820_000, IDLE)];
    assert_eq!(terminal.states(), states);
    assert_eq!(terminal.rates(Direction::Up), [(0, 16), (1_000, 64), (8_000, 16), (20_000, 0)]);
    assert_eq!(terminal.rrc.next_timeout(), None);
}

#[test]
fn data_in_either_direction_keeps_the_channel() {
    let mut terminal = Terminal::new(&settings());
    terminal.volume(0, Direction::Down, 1_000);
    terminal.volume(1_500, Direction::Up, 10);
    terminal.volume(2_000, Direction::Down, 0);
    terminal.run(60_000);
    assert_eq!(terminal.state(), RrcState::CellDch);
    terminal.volume(60_000, Direction::Up, 0);
    terminal.volume(64_000, Direction::Up, 5); // one second before the time is over
    terminal.volume(64_000, Direction::Up, 0);
    terminal.run(68_999);
    assert_eq!(terminal.state(), RrcState::CellDch);
    terminal.run(69_000);
    assert_eq!(terminal.state(), RrcState::CellFach);
}

#[test]
fn a_volume_must_stay_above_for_the_time_to_trigger() {
    let mut settings = settings();
    settings.dch.down.time_to_trigger = Span::from_millis(320);
    let mut terminal = Terminal::new(&settings);
    terminal.volume(0, Direction::Down, 300);
    terminal.volume(319, Direction::Down, 200);
    terminal.volume(400, Direction::Down, 300);
    terminal.run(719);
    assert!(!terminal.rrc.holds_dch());
    terminal.run(720);
    assert!(terminal.rrc.holds_dch());
    terminal.run(1_720);
    assert_eq!(terminal.state(), RrcState::CellDch);
}

#[test]
fn a_refused_terminal_asks_again_after_the_pending_time() {
    let mut terminal = Terminal::new(&settings());
    terminal.admits = false;
    terminal.volume(0, Direction::Down, 300);
    terminal.run(700); // at 0, 250 and 500
    assert_eq!((terminal.asked, terminal.rrc.holds_dch()), (3, false));
    terminal.admits = true;
    terminal.run(750);
    assert!(terminal.rrc.holds_dch());

    let mut settings = settings();
    settings.dch.down.pending_time = Span::ZERO;
    let mut terminal = Terminal::new(&settings);
    terminal.admits = false;
    terminal.volume(0, Direction::Down, 300);
    terminal.volume(5_000, Direction::Down, 400);
    assert_eq!(terminal.asked, 1);
    terminal.volume(5_100, Direction::Down, 250);
    terminal.volume(5_200, Direction::Down, 251);
    assert_eq!(terminal.asked, 2);
}

#[test]
fn a_preempted_terminal_goes_on_in_cell_fach() {
    let mut terminal = Terminal::new(&settings());
    terminal.volume(0, Direction::Down, 300);
    terminal.run(1_500);
    assert_eq!(terminal.state(), RrcState::CellDch);
    terminal.rrc.preempt(Time::from_millis(1_500));
    assert!(!terminal.rrc.holds_dch());
    assert_eq!(terminal.channel(1_500, Direction::Down), FACH);
    terminal.run(1_749);
    assert!(!terminal.rrc.holds_dch());
    terminal.run(1_750); // after the pending time
    assert!(terminal.rrc.holds_dch());
}

#[test]
fn from_a_paging_state_uplink_data_waits_for_the_cell_update_and_downlink_data_for_paging_too() {
    let paging = RrcSettings { initial: RrcState::CellPch, ..settings() };
    let mut terminal = Terminal::new(&paging);
    terminal.volume(100, Direction::Up, 40);
    assert_eq!(terminal.channel(100, Direction::Up), None);
    terminal.run(10_000);
    assert_eq!(terminal.states(), [(100, CELL_PCH), (400, CELL_FACH)]);
    assert_eq!(terminal.rates(Direction::Up), [(400, 16)]);

    let mut terminal = Terminal::new(&paging);
    terminal.volume(100, Direction::Down, 40); // paging at 640, cell update 300
    terminal.run(10_000);
    assert_eq!(terminal.states(), [(100, CELL_PCH), (940, CELL_FACH)]);

    let mut terminal = Terminal::new(&paging);
    terminal.volume(100, Direction::Down, 40);
    terminal.volume(200, Direction::Up, 40); // does not wait for the paging occasion
    terminal.run(10_000);
    assert_eq!(terminal.states(), [(100, CELL_PCH), (500, CELL_FACH)]);
}

#[test]
fn an_idle_terminal_sets_up_a_connection_into_the_state_asked_for() {
    let idle = RrcSettings { initial: RrcState::Idle, ..settings() };
    let mut terminal = Terminal::new(&idle);
    terminal.volume(1_000, Direction::Up, 1_500);
    terminal.run(10_000);
    // More than the threshold waits, so that a dedicated channel is set up as soon as the terminal is there.
    assert_eq!(terminal.states(), [(1_000, IDLE), (1_600, CELL_FACH), (2_600, CELL_DCH)]);

    let straight = RrcSettings { connect_to: Connected::CellDch, connection_setup: Span::from_millis(920), ..idle };
    let mut terminal = Terminal::new(&straight);
    terminal.volume(0, Direction::Up, 60);
    terminal.run(10_000);
    assert_eq!(terminal.states()[..2], [(0, IDLE), (920, CELL_DCH)]);

    let mut terminal = Terminal::new(&straight);
    terminal.admits = false;
    terminal.volume(0, Direction::Up, 60);
    terminal.run(10_000);
    assert_eq!(terminal.states(), [(0, IDLE), (920, CELL_FACH)]);
}

#[test]
fn nothing_is_sent_during_a_cell_reselection_on_common_channels() {
    let mut settings = settings();
    settings.reselection =
        Some(Reselection { interval: SpanDistribution::Constant(Span::from_secs(5)), gap: Span::from_millis(900) });
    let mut terminal = Terminal::new(&settings);
    terminal.volume(0, Direction::Down, 40);
    terminal.run(12_000);
    assert_eq!(terminal.rates(Direction::Down), [(0, 32), (5_000, 0), (5_900, 32), (10_000, 0), (10_900, 32)]);
    assert_eq!(terminal.rates(Direction::Up), [(0, 16), (5_000, 0), (5_900, 16), (10_000, 0), (10_900, 16)]);
    // The set-up that begins in the gap counts from its end.
    terminal.volume(15_100, Direction::Down, 300);
    terminal.run(16_899);
    assert_eq!(terminal.state(), RrcState::CellFach);
    terminal.run(16_900);
    assert_eq!(terminal.state(), RrcState::CellDch);
    // Soft handover: no gap at 20 s and at 25 s, and the terminal has moved on when it is in CELL_FACH again.
    terminal.volume(22_000, Direction::Down, 0);
    terminal.run(27_000);
    terminal.volume(27_000, Direction::Down, 1);
    assert_eq!(terminal.rates(Direction::Down)[5..], [(15_000, 0), (15_900, 32), (16_900, 64), (27_000, 32)]);
    terminal.run(31_000);
    assert_eq!(terminal.rates(Direction::Down)[9..], [(30_000, 0), (30_900, 32)]);
}

#[test]
fn a_reselection_holds_up_the_end_of_a_set_up() {
    let mut settings = settings();
    settings.reselection =
        Some(Reselection { interval: SpanDistribution::Constant(Span::from_secs(5)), gap: Span::from_millis(900) });
    let mut terminal = Terminal::new(&settings);
    terminal.volume(4_500, Direction::Down, 300); // would be ready at 5500
    terminal.run(10_000);
    assert_eq!(terminal.states(), [(4_500, CELL_FACH), (5_900, CELL_DCH)]);
}

#[test]
fn the_rate_follows_the_volume_a_step_at_a_time() {
    // Steps 32, 64, 128, 384; 64 after the set-up at 1000. 2000 octets wait: each step takes the reconfiguration's second.
    let mut terminal = Terminal::new(&switching());
    terminal.volume(0, Direction::Down, 2_000);
    terminal.run(4_000);
    assert_eq!(terminal.rates(Direction::Down), [(0, 32), (1_000, 64), (2_000, 128), (3_000, 384)]);
    assert_eq!(terminal.channel(4_000, Direction::Down), Some((384, 10)));
    assert_eq!(terminal.rates(Direction::Up), [(0, 16), (1_000, 64)]);
    // 63 octets are below 64: after 2560 ms a step down is decided, a second later it is taken, and so on to the lowest.
    terminal.volume(4_000, Direction::Down, 63);
    terminal.run(20_000);
    assert_eq!(terminal.rates(Direction::Down)[4..], [(7_560, 128), (11_120, 64), (14_680, 32)]);
    // Between the two thresholds nothing changes.
    terminal.volume(20_000, Direction::Down, 1_024);
    terminal.run(60_000);
    assert_eq!(terminal.channel(60_000, Direction::Down), Some((32, 20)));
    terminal.volume(60_000, Direction::Down, 1_025);
    terminal.run(61_000);
    assert_eq!(terminal.channel(61_000, Direction::Down), Some((64, 20)));
}

#[test]
fn a_channel_set_up_again_begins_at_its_first_rate() {
    let mut terminal = Terminal::new(&switching());
    terminal.volume(0, Direction::Down, 2_000);
    terminal.volume(3_500, Direction::Down, 0); // a downgrade is decided at 6060 and taken at 7060; inactive at 8500
    terminal.run(9_000);
    terminal.volume(9_000, Direction::Down, 1_000);
    terminal.run(15_000);
    let rates = [(0, 32), (1_000, 64), (2_000, 128), (3_000, 384), (7_060, 128), (8_500, 32), (10_000, 64)];
    assert_eq!(terminal.rates(Direction::Down), rates);
}

#[test]
fn an_oscillating_channel_is_fast_and_slow_by_turns() {
    let mut settings = settings();
    let mut oscillation = Oscillation {
        fast_for: Span::from_millis(2_000),
        slow_for: Span::from_millis(500),
        slow: TransportChannel::new(8, 40),
        release: Release::Periodic,
    };
    settings.dch.down.oscillation = Some(oscillation);
    let mut terminal = Terminal::new(&settings);
    terminal.volume(0, Direction::Down, 1_000);
    terminal.run(6_000);
    let rates = [(0, 32), (1_000, 64), (3_000, 8), (3_500, 64), (5_500, 8), (6_000, 64)];
    assert_eq!(terminal.rates(Direction::Down), rates);
    assert_eq!(terminal.rates(Direction::Up), [(0, 16), (1_000, 64)]);

    // Kept while data waits: released at 7000 when nothing does, and not at 3000.
    oscillation.release = Release::WhenEmpty;
    settings.dch.down.oscillation = Some(oscillation);
    let mut terminal = Terminal::new(&settings);
    terminal.volume(0, Direction::Down, 1_000);
    terminal.volume(7_000, Direction::Down, 0);
    terminal.run(8_000);
    assert_eq!(terminal.rates(Direction::Down), [(0, 32), (1_000, 64), (7_000, 8), (7_500, 64)]);
}

#[test]
fn the_pings_of_table_2_1_meet_the_waits_that_it_shows() {
    // Left: FACH, a ping each second, the sixth during a cell reselection that began at 5.0 s and takes 0.9 s: it waits that
    // long and no other does (1192 ms against 270 to 371 ms).
    let mut settings = settings();
    settings.reselection =
        Some(Reselection { interval: SpanDistribution::Constant(Span::from_secs(5)), gap: Span::from_millis(900) });
    let mut terminal = Terminal::new(&settings);
    let waits: Vec<u64> = (0..8).map(|ping| wait(&mut terminal, 1_000 * ping)).collect();
    assert_eq!(waits, [0, 0, 0, 0, 0, 900, 0, 0]);
    assert_eq!(terminal.state(), RrcState::CellFach);

    // Right: the first ping finds no channel and waits 0.9 s for a dedicated one (1121 ms against 190 to 221 ms).
    let settings = RrcSettings {
        initial: RrcState::Idle,
        connect_to: Connected::CellDch,
        connection_setup: Span::from_millis(900),
        ..RrcSettings::default()
    };
    let mut terminal = Terminal::new(&settings);
    let waits: Vec<u64> = (0..5).map(|ping| wait(&mut terminal, 2_000 * ping)).collect();
    assert_eq!(waits, [900, 0, 0, 0, 0]);
    assert_eq!(terminal.state(), RrcState::CellDch);
}

/// How long (ms) a ping of 60 octets that enters the uplink at `ms` waits for a channel that carries it.
fn wait(terminal: &mut Terminal, ms: u64) -> u64 {
    terminal.volume(ms, Direction::Up, 60);
    let mut waited = 0;
    while terminal.channel(ms + waited, Direction::Up).is_none() {
        waited += 10;
        terminal.run(ms + waited);
    }
    terminal.volume(ms + waited, Direction::Up, 0);
    waited
}

#[test]
fn other_settings_hold_from_now_on() {
    let mut terminal = Terminal::new(&switching());
    terminal.volume(0, Direction::Down, 2_000);
    terminal.run(3_500); // 384 kbit/s since 3000
    let mut other = switching();
    other.dch.down.switching.as_mut().unwrap().rates = vec![TransportChannel::new(144, 20)];
    other.dch_inactivity = Span::from_secs(1);
    let now = Time::from_millis(3_500);
    terminal.rrc.set_settings(now, &other, OWN, &mut || true, &mut terminal.out);
    terminal.note(now);
    assert_eq!(terminal.channel(3_500, Direction::Down), Some((144, 20)));
    terminal.volume(4_000, Direction::Down, 0);
    terminal.run(5_000);
    assert_eq!(terminal.state(), RrcState::CellFach);
}

#[test]
fn time_never_stands_still_and_goes_on_only_while_something_is_to_come() {
    // Random volumes at random instants: after each call nothing is due any more.
    let mut stream = Stream::new(1, 0, "volumes");
    let mut settings = switching();
    settings.reselection =
        Some(Reselection { interval: SpanDistribution::Exponential(Span::from_secs(3)), gap: Span::from_millis(900) });
    settings.paging_inactivity = Span::from_secs(20);
    let mut terminal = Terminal::new(&settings);
    let mut ms = 0;
    for _ in 0..20_000 {
        ms += if stream.below(50) == 0 { stream.below(60_000) } else { stream.below(300) };
        let direction = Direction::BOTH[stream.below(2) as usize];
        let octets = [0, 0, 50, 240, 800, 3_000][stream.below(6) as usize];
        terminal.admits = stream.below(3) > 0;
        terminal.volume(ms, direction, octets);
        assert!(terminal.rrc.next_timeout().is_none_or(|due| due > Time::from_millis(ms)));
    }
    for state in [IDLE, CELL_PCH, CELL_FACH, CELL_DCH] {
        assert!(terminal.states().iter().any(|told| told.1 == state), "state {state} was never met");
    }
    let changes = terminal.told.iter().filter(|told| told.1 == FactKind::RrcState);
    assert!(changes.clone().all(|told| told.2 != told.3));
}

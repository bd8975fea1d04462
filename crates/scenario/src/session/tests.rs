use cellwind_engine::random::Stream;

use super::*;
use crate::build::SERVER_POINT;
use crate::load::parse;
use crate::swarm;

/// When each packet left, by its number, and what else was told.
#[derive(Debug, Default, PartialEq)]
struct Told {
    left: Vec<(Time, u16, Direction, Body)>,
    dropped: Vec<(Body, DropReason)>,
    facts: Vec<FactRow>,
    /// Packets that stay inside for ever.
    held: usize,
}

impl Told {
    fn collect(&mut self, session: &mut Session) {
        self.left.extend(session.take_egress().map(|(time, terminal, way, packet)| (time, terminal, way, packet.body)));
        self.dropped.extend(session.take_dropped());
        self.facts.extend(session.drain_facts());
    }
}

/// Puts packets in at their instants. A restless driver also looks at instants when nothing happens.
fn drive(session: &mut Session, packets: &[(Time, u16, Direction, Packet)], mut restless: Option<Stream>) -> Told {
    let mut told = Told::default();
    let mut looks = |session: &mut Session, until: Time, told: &mut Told| {
        let Some(stream) = &mut restless else { return };
        for _ in 0..stream.below(4) {
            let ahead = until.since(session.now()).as_nanos();
            let look = session.now() + Span::from_nanos(stream.below(ahead + 1));
            session.advance_to(look).unwrap();
            if stream.below(2) == 0 {
                told.collect(session);
            }
        }
    };
    for (number, &(at, terminal, direction, packet)) in packets.iter().enumerate() {
        looks(session, at, &mut told);
        session.advance_to(at).unwrap();
        session.inject(terminal, direction, Packet { body: Body(number as u32), ..packet }).unwrap();
    }
    while let Some(next) = session.next_timeout() {
        looks(session, next, &mut told);
        session.advance_to(next).unwrap();
    }
    session.check().unwrap();
    told.collect(session);
    told.held = session.counters().map(|(_, traffic)| traffic.packets_held() as usize).sum();
    told
}

#[test]
fn how_often_a_driver_looks_changes_nothing() {
    for seed in 0..60 {
        let text = swarm::scenario(seed);
        let loaded = parse(&text, "swarm", &[]).unwrap();
        let mut stream = Stream::new(seed, 0, "packets");
        let mut at = Time::ZERO;
        let terminals = loaded.scenario.terminal.len() as u64;
        let packets: Vec<_> = (0..300)
            .map(|seq| {
                at += Span::from_micros(stream.below(2) * stream.below(40_000));
                let direction = if stream.below(3) == 0 { Direction::Up } else { Direction::Down };
                let packet = Packet { seq, payload: stream.below(1461) as u32, ..Packet::EMPTY };
                (at, stream.below(terminals) as u16, direction, packet)
            })
            .collect();
        let told = |restless| drive(&mut Session::live(&loaded, 0, true), &packets, restless);
        let calm = told(None);
        let fates = calm.left.len() + calm.dropped.len() + calm.held;
        assert_eq!(fates, packets.len(), "seed {seed}: each packet has one fate");
        let may_stand_still = loaded.warnings.iter().any(|warning| warning.contains("TS 25.322 §9.7.1"));
        // Without acknowledgements, the receiver learns of a loss by what comes behind it, and nothing comes.
        let may_not_know = ["um", "tm"].iter().any(|mode| text.contains(&format!("rlc.type = \"{mode}\"")));
        let may_hold = may_stand_still || may_not_know;
        assert!(calm.held == 0 || may_hold, "seed {seed}: {} packets stay inside", calm.held);
        assert_eq!(told(Some(Stream::new(seed, 0, "looks"))), calm, "seed {seed}");
    }
}

/// Puts packets in at their instants; those of one instant enter before anything else of that instant happens.
fn replay(session: &mut Session, packets: &[(Time, u16, Direction, Packet)]) -> Told {
    for (number, &(at, terminal, direction, packet)) in packets.iter().enumerate() {
        if at > session.now() {
            session.advance_to(at).unwrap();
        }
        session.inject(terminal, direction, Packet { body: Body(number as u32), ..packet }).unwrap();
    }
    drive(session, &[], None)
}

/// The packets of a simulated download, as they left one end and arrived at the other.
fn simulated(loaded: &Loaded) -> Vec<(Time, bool, u16, Packet)> {
    let mut session = Session::simulated(&loaded.scenario, 3, Record { facts: None, capture: true });
    session.world_mut().stop_when_finished(loaded.scenario.flow.len() as u32);
    session.advance_to(Time::from_secs(60)).unwrap();
    let seen = session.world_mut().take_captured();
    seen.into_iter().map(|seen| (seen.time, seen.outgoing, seen.point, seen.packet)).collect()
}

#[test]
fn a_live_path_treats_packets_as_the_simulated_one_does() {
    // Odd times, so that no packet is sent at the instant of another event: from outside it comes after all of them.
    let lossy = "[link.internet]\ndelay = \"75 ms\"\nloss = 0.01\n[access]\numts = \"umts-384\"\n\
                 [flow.download]\ntransport = \"newreno\"\nbulk = \"1 MB\"\n";
    let moving = "[access]\nwlan = \"wlan-teyeb\"\numts = \"umts-teyeb\"\n[terminal.ue]\naccess = \"wlan\"\n\
                  [flow.download]\ntransport = \"newreno\"\nbulk = \"1 MB\"\n\
                  [[event]]\nat = \"2123456789 ns\"\nhandover = \"umts\"\ndelay = \"2 s\"\nbuffering = \"intermediate\"\n\
                  [[event]]\nat = \"5123456789 ns\"\nspike = \"500 ms\"\n";
    let odd_umts = [("access.umts.up.tti", "19999993 ns")];
    let odd_both = [("access.umts.delay", "75000017 ns"), ("access.wlan.delay", "5000013 ns")];
    let spiky = format!(
        "{lossy}[spikes.both]\ninterval = \"exponential 3 s\"\nduration = \"uniform 100 ms to 2 s\"\n\
         [spikes.line]\nlink = \"internet\"\ndirection = \"up\"\ninterval = \"1.1 s\"\nduration = \"exponential 90 ms\"\n"
    );
    let bursty = lossy.replace(
        "loss = 0.01",
        "rate = \"1 Mbit/s\"\nloss = { type = \"gilbert-elliott\", rate = 0.005, burst = 2, step = \"5 ms\", \
         blackouts = [{ at = \"3 s\", duration = \"300 ms\" }] }",
    );
    let cases = [
        ("lossy", lossy, &odd_umts[..]),
        ("moving", moving, &odd_both[..]),
        ("spiky", &spiky, &odd_umts[..]),
        ("bursty", &bursty, &odd_umts[..]),
    ];
    for (name, text, sets) in cases {
        let sets: Vec<_> = sets.iter().map(|&(path, value)| (path.into(), value.into())).collect();
        let loaded = parse(text, name, &sets).unwrap();
        let seen = simulated(&loaded);
        let sent = seen.iter().filter(|&&(_, outgoing, ..)| outgoing);
        let packets: Vec<_> = sent
            .map(|&(time, _, point, packet)| {
                let direction = if point == SERVER_POINT { Direction::Down } else { Direction::Up };
                (time, 0, direction, packet)
            })
            .collect();
        let live = replay(&mut Session::live(&loaded, 3, false), &packets);
        let arrivals = |wanted: Direction| {
            let live = live.left.iter().filter(move |&&(_, _, direction, _)| direction == wanted);
            live.map(|&(time, _, _, Body(number))| (time, packets[number as usize].3)).collect::<Vec<_>>()
        };
        for (direction, at_server) in [(Direction::Down, false), (Direction::Up, true)] {
            let simulated: Vec<_> = seen
                .iter()
                .filter(|&&(_, outgoing, point, _)| !outgoing && (point == SERVER_POINT) == at_server)
                .map(|&(time, _, _, packet)| (time, packet))
                .collect();
            assert!(simulated.len() > 300, "{name}: {}", simulated.len());
            // The simulation ends with the last byte, and what is under way then never arrives.
            assert_eq!(arrivals(direction)[..simulated.len()], simulated, "{name} {direction:?}");
        }
    }
}

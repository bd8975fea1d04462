use super::*;
use crate::log::{LogReader, PacketHeader, log_of};
use crate::testkit::*;
use cellwind_engine::fact::DropReason;
use nix::unistd::write;

/// 576 bytes take 12 ms; then 50 ms of delay.
const SLOW: &str = "[link.wire]\nrate = \"384 kbit/s\"\ndelay = \"50 ms\"\n";
const AT_ONCE: &str = "[link.wire]\n";

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Time and end of every packet in a log.
fn logged(reader: &mut LogReader) -> Vec<(Time, u16)> {
    let ring = reader.packets.as_mut().unwrap();
    let mut header = [0; PacketHeader::SIZE];
    let mut seen = Vec::new();
    while ring.pop_entire_slice(&mut header).is_ok() {
        let header = PacketHeader::from_bytes(&header);
        ring.pop_entire_slice(&mut vec![0; header.length as usize]).unwrap();
        seen.push((header.time, header.end));
    }
    seen
}

#[test]
fn packets_leave_in_order_and_never_early() {
    let (mut pump, clock, networks) = pump(SLOW, 1, 100, no_log());
    for mark in 1..=3 {
        write(&networks[0], &packet(address(0), 576, mark)).unwrap();
    }
    assert_eq!(pump.read(SERVER), Ok(false));
    for (instant, expected) in [
        (Time::from_nanos(61_999_999), vec![]),
        (ms(62), vec![1]),
        (Time::from_nanos(73_999_999), vec![]),
        (ms(86), vec![2, 3]),
    ] {
        clock.set(instant);
        pump.advance().unwrap();
        assert_eq!(marks(&networks[1]), expected, "{instant}");
    }
    assert_eq!(pump.pool.used(), 0);
}

#[test]
fn a_late_driver_changes_lateness_and_nothing_else() {
    // The same packets through a driver that is on time and through one that sleeps for a second in between: the
    // instants that the captures show, and the order, are the same.
    let run = |is_late: bool| {
        let (log, mut reader) = log_of(0, 1 << 20);
        let (mut pump, clock, networks) = pump(SLOW, 1, 100, log);
        let catch_up = |pump: &mut Pump<ByHand>, until: Time| {
            while let Some(next) = pump.session().next_timeout().filter(|&next| next <= until) {
                clock.set(if is_late { until } else { next });
                pump.advance().unwrap();
            }
            clock.set(until);
        };
        for mark in 1..=20 {
            catch_up(&mut pump, if is_late { Time::ZERO } else { ms(5 * u64::from(mark)) });
            clock.set(ms(5 * u64::from(mark)));
            write(&networks[0], &packet(address(0), 576, mark)).unwrap();
            pump.read(SERVER).unwrap();
        }
        catch_up(&mut pump, ms(1000));
        (logged(&mut reader), marks(&networks[1]), pump.lateness.summary().worst)
    };
    let (on_time, late) = (run(false), run(true));
    assert_eq!(on_time.0.len(), 40);
    assert_eq!(on_time.0, late.0);
    assert!(on_time.0.is_sorted_by_key(|&(time, _)| time));
    assert_eq!(on_time.1, (1..=20).collect::<Vec<_>>());
    assert_eq!(on_time.1, late.1);
    assert_eq!(on_time.2, Span::ZERO);
    // What was due after the last packet was read waited for the driver's return.
    assert!(late.2 > Span::from_millis(500), "{:?}", late.2);
}

#[test]
fn a_path_without_delay_lets_packets_out_as_they_come() {
    let (mut pump, clock, networks) = pump(AT_ONCE, 1, 1, no_log());
    clock.set(ms(7));
    for mark in 0..100 {
        write(&networks[1], &packet([100, 64, 0, 1], 100, mark)).unwrap();
        pump.read(1).unwrap();
        assert_eq!(marks(&networks[0]), [mark]);
    }
    let up = pump.counts().terminals[0][Direction::Up as usize];
    assert_eq!((up.packets_in, up.packets_delivered, up.bytes_delivered), (100, 100, 10_000));
}

#[test]
fn each_terminal_gets_its_own_packets() {
    let scenario = "[link.wire]\n[terminal.one]\n[terminal.two]\n";
    let (mut pump, _, networks) = pump(scenario, 2, 100, no_log());
    for (terminal, mark) in [(1, 1), (0, 2), (1, 3)] {
        write(&networks[0], &packet(address(terminal), 100, mark)).unwrap();
    }
    write(&networks[0], &packet(address(9), 100, 4)).unwrap();
    pump.read(SERVER).unwrap();
    assert_eq!((marks(&networks[1]), marks(&networks[2])), (vec![2], vec![1, 3]));
    assert_eq!(pump.counts().refused[Refusal::NoTerminal as usize], 1);
    write(&networks[2], &packet([100, 64, 0, 1], 100, 5)).unwrap();
    pump.read(2).unwrap();
    assert_eq!(marks(&networks[0]), [5]);
    assert_eq!(pump.counts().terminals[1][Direction::Up as usize].packets_delivered, 1);
}

#[test]
fn an_exhausted_pool_refuses_and_recovers() {
    let (mut pump, clock, networks) = pump(SLOW, 1, 4, no_log());
    for mark in 1..=10 {
        write(&networks[0], &packet(address(0), 576, mark)).unwrap();
    }
    pump.read(SERVER).unwrap();
    assert_eq!(pump.counts().refused[Refusal::NoSlot as usize], 6);
    clock.set(ms(1000));
    pump.advance().unwrap();
    assert_eq!(marks(&networks[1]), [1, 2, 3, 4]);
    write(&networks[0], &packet(address(0), 576, 11)).unwrap();
    pump.read(SERVER).unwrap();
    clock.set(ms(2000));
    pump.advance().unwrap();
    assert_eq!(marks(&networks[1]), [11]);
}

#[test]
fn nonsense_is_counted_and_goes_nowhere() {
    let (mut pump, _, networks) = pump(AT_ONCE, 1, 10, no_log());
    let good = packet(address(0), 100, 1);
    let mut broken = good.clone();
    broken[10] ^= 1;
    let oversized = packet(address(0), 1501, 1);
    for bytes in [&good[..10], &[0x33; 60], &good[..90], &broken, &oversized, &good] {
        write(&networks[0], bytes).unwrap();
    }
    pump.read(SERVER).unwrap();
    assert_eq!(marks(&networks[1]), [1]);
    let counts = pump.counts().clone();
    for refusal in [Refusal::Truncated, Refusal::Version, Refusal::Length, Refusal::Checksum, Refusal::Oversized] {
        assert_eq!(counts.refused[refusal as usize], 1, "{refusal:?}");
    }
    assert_eq!((counts.refused.iter().sum::<u64>(), counts.slots_used), (5, 0));
}

#[test]
fn what_the_path_drops_is_counted_and_freed() {
    let scenario = "[link.wire]\nrate = \"384 kbit/s\"\nqueue = \"2 packets\"\n";
    let (mut pump, _, networks) = pump(scenario, 1, 10, no_log());
    for mark in 1..=5 {
        write(&networks[0], &packet(address(0), 576, mark)).unwrap();
    }
    pump.read(SERVER).unwrap();
    let counts = pump.counts().clone();
    assert_eq!(counts.dropped[DropReason::QueueFull as usize - 1], 2);
    let down = counts.terminals[0][Direction::Down as usize];
    assert_eq!((down.packets_in, down.packets_dropped, down.bytes_dropped, down.packets_held()), (5, 2, 1152, 3));
    assert_eq!(counts.slots_used, 3);
}

#[test]
fn a_device_that_does_not_take_a_packet_loses_it() {
    let (mut pump, _, mut networks) = pump(AT_ONCE, 1, 10, no_log());
    drop(networks.pop());
    write(&networks[0], &packet(address(0), 100, 1)).unwrap();
    pump.read(SERVER).unwrap();
    let counts = pump.counts().clone();
    assert_eq!(counts.refused[Refusal::NotTaken as usize], 1);
    let down = counts.terminals[0][Direction::Down as usize];
    assert_eq!((down.packets_delivered, down.packets_dropped, counts.slots_used), (0, 1, 0));
}

#[test]
fn a_bridge_carries_what_belongs_to_the_link_straight_across() {
    let (near, networks): (Vec<_>, Vec<_>) = (0..2).map(|_| device_pair()).unzip();
    let devices = near.into_iter().map(Device::ethernet).collect();
    let ends = Ends { devices, addresses: Addresses::All(0), mtu: MTU };
    let lateness = Arc::new(Lateness::new(Span::ZERO));
    let clock = ByHand::default();
    let pool = Pool::with_slots(1514, 10);
    let mut pump = Pump::new(clock.clone(), session(SLOW), ends, pool, no_log(), lateness);
    let frame = |ethertype: [u8; 2], rest: &[u8]| [&[0; 10][..], &[3; 12], &ethertype, rest].concat();
    write(&networks[0], &frame([8, 6], &[7; 28])).unwrap();
    write(&networks[0], &frame([8, 0], &packet([8, 8, 8, 8], 576, 9))).unwrap();
    pump.read(SERVER).unwrap();
    assert_eq!(marks(&networks[1]), [7]);
    clock.set(ms(62));
    pump.advance().unwrap();
    assert_eq!(marks(&networks[1]), [9]);
    assert_eq!(pump.counts().aside, 1);
}

#[test]
fn facts_reach_the_log() {
    let (log, mut reader) = log_of(1000, 0);
    let (mut pump, clock, networks) = pump(SLOW, 1, 10, log);
    for mark in 1..=3 {
        write(&networks[0], &packet(address(0), 576, mark)).unwrap();
    }
    pump.read(SERVER).unwrap();
    clock.set(ms(100));
    pump.advance().unwrap();
    let facts = reader.facts.as_mut().unwrap();
    let waiting = facts.slots();
    let lengths: Vec<u32> = facts.read_chunk(waiting).unwrap().into_iter().map(|row| row.fact().length).collect();
    assert_eq!(lengths, [576, 576, 0, 0]); // the second and the third packet had to queue, and left the queue
}

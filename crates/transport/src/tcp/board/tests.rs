use super::*;

fn board(count: u64) -> Board {
    let mut board = Board::default();
    (0..count).for_each(|n| board.push(1 + n * 100, 101 + n * 100, Time::from_millis(n)));
    board
}

#[test]
fn a_retransmission_among_the_acknowledged_spoils_the_sample() {
    let mut board = board(4);
    assert_eq!(board.acknowledge(101, |_| {}).timed, Some(Time::from_millis(0)));
    board.resend(101, Time::from_millis(50));
    assert_eq!(board.acknowledge(301, |_| {}).timed, None);
    assert_eq!(board.acknowledge(401, |_| {}).timed, Some(Time::from_millis(3)));
}

#[test]
fn acknowledging_part_of_a_segment_keeps_the_rest() {
    let mut board = board(2);
    board.acknowledge(51, |_| {});
    assert_eq!(board.at(60).unwrap().start, 51);
    board.check(51, 201).unwrap();
}

#[test]
fn each_segment_is_delivered_once() {
    let mut board = board(6);
    let mut seen = Vec::new();
    assert_eq!(board.mark_sacked(201, 401, |segment| seen.push(segment.start)), 200);
    assert_eq!(board.mark_sacked(201, 401, |segment| seen.push(segment.start)), 0);
    assert_eq!(board.mark_sacked(101, 501, |segment| seen.push(segment.start)), 200);
    assert_eq!(board.acknowledge(501, |segment| seen.push(segment.start)).delivered, 100);
    assert_eq!(seen, [201, 301, 101, 401, 1]);
}

#[test]
fn the_pipe_leaves_out_what_is_lost_until_it_is_sent_again() {
    // RFC 6675 §4: ten segments, two of them lost, three SACKed; then one of the lost is sent again.
    let mut board = board(10);
    board.mark_sacked(201, 501, |_| {});
    board.lose_below(201, |_| {});
    assert_eq!((board.sacked_bytes(), board.lost_bytes(), board.pipe()), (300, 200, 500));
    board.resend(1, Time::from_secs(1));
    assert_eq!(board.pipe(), 600);
    board.lose(1); // and that retransmission is lost
    assert_eq!((board.pipe(), board.resent_bytes()), (500, 0));
    board.acknowledge(101, |_| {});
    assert_eq!((board.lost_bytes(), board.pipe()), (100, 500));
    board.forget();
    assert_eq!((board.pipe(), board.outstanding()), (900, 900));
    board.check(101, 1001).unwrap();
}

#[test]
fn transmissions_come_back_in_the_order_of_time() {
    let mut board = Board::with_transmissions();
    (0..4).for_each(|n| board.push(1 + n * 100, 101 + n * 100, Time::from_millis(n)));
    board.resend(1, Time::from_millis(9));
    board.mark_sacked(101, 201, |_| {});
    assert_eq!(board.oldest_transmission().unwrap().start, 201);
    board.lose(201);
    assert_eq!(board.oldest_transmission().unwrap().start, 301);
    board.acknowledge(301, |_| {});
    board.lose(301);
    assert_eq!(board.oldest_transmission(), None);
    board.resend(301, Time::from_millis(10));
    assert_eq!(board.oldest_transmission().unwrap().transmissions, 2);
}

/// Numbers without pattern (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// What a board must answer, found by looking at every segment.
fn compare(board: &mut Board, una: u64, max: u64) {
    board.check(una, max).unwrap();
    let segments: Vec<Segment> = board.iter().copied().collect();
    let missing = |segment: &&Segment| !segment.sacked;
    assert_eq!(board.last_missing(), segments.iter().rfind(missing));
    for seq in (una..max + 50).step_by(37) {
        assert_eq!(board.at(seq), segments.iter().find(|segment| segment.end > seq));
        let expected = segments.iter().find(|segment| segment.end > seq && !segment.sacked);
        assert_eq!(board.first_missing(seq), expected);
    }
    let sacked: u64 =
        segments.iter().filter(|segment| segment.sacked && segment.end <= max / 2).map(Segment::length).sum();
    if let Some(edge) = segments.iter().map(|segment| segment.end).rfind(|&end| end <= max / 2) {
        assert_eq!(board.sacked_below(edge), sacked);
    }
}

#[test]
fn any_order_of_events_leaves_it_as_a_look_at_every_segment_would() {
    let mut numbers = Numbers(4);
    for _ in 0..200 {
        let mut board = Board::with_transmissions();
        let (mut una, mut max) = (1, 1);
        for step in 0..120 {
            let now = Time::from_millis(step);
            match numbers.below(10) {
                0..4 => {
                    let end = max + if numbers.below(4) == 0 { 1 + numbers.below(100) } else { 100 };
                    board.push(max, end, now);
                    max = end;
                }
                4..7 => {
                    let start = una + numbers.below(max - una + 1);
                    board.mark_sacked(start, start + 1 + numbers.below(500), |segment| assert!(!segment.sacked));
                }
                7 => {
                    let ack = una + numbers.below(max - una + 1);
                    let acked = if numbers.below(8) == 0 { ack } else { board.at(ack).map_or(ack, |s| s.end) };
                    board.acknowledge(acked, |segment| assert!(!segment.sacked));
                    una = acked;
                }
                8 => board.lose_below(una + numbers.below(max - una + 1), |segment| assert!(!segment.sacked)),
                _ => match board.at(una + numbers.below(max - una + 1)).map(|segment| segment.start) {
                    Some(start) if numbers.below(3) == 0 => board.lose(start),
                    Some(start) => drop(board.resend(start, now)),
                    None if numbers.below(2) == 0 => board.forget(),
                    None => {}
                },
            }
            compare(&mut board, una, max);
            let oldest = board.iter().filter(|segment| segment.is_in_network()).map(|segment| segment.sent).min();
            assert_eq!(board.oldest_transmission().map(|segment| segment.sent), oldest);
        }
    }
}

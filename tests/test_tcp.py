"""The two ends of TCP driven by hand, as in the documents' own examples."""

from __future__ import annotations

import pytest

from cellwind import ScenarioError
from cellwind.tcp import Receiver, Segment, Sender

MSS = 1000


def connected(window: int = 65_535, **settings: object) -> Sender:
    """A sender whose handshake took 100 ms, with ten segments of initial window."""
    preset = str(settings.pop("extends", "reno"))
    sender = Sender({"extends": preset, "mss": f"{MSS} B", "initial_window": "10 segments", **settings})  # type: ignore[dict-item]
    sender.open(0.0)
    sender.on_segment(0.1, ack=1, window=window, syn=True)
    return sender


def numbers(segments: list[Segment]) -> list[int]:
    return [(segment.seq - 1) // MSS + 1 for segment in segments if segment.length]


def test_handshake_costs_a_round_trip_and_seeds_the_timer() -> None:
    """RFC 6298 §2.2: R = 100 ms gives SRTT 100, RTTVAR 50 and an RTO of 300 ms, raised to the minimum of 1 s."""
    sender = Sender("reno")
    [syn] = sender.open(0.0)
    assert (syn.syn, syn.seq, syn.ack) == (True, 0, None)
    [ack] = sender.on_segment(0.1, ack=1, syn=True)
    assert (ack.seq, ack.ack, ack.length) == (1, 1, 0)
    assert sender.state == "established"
    assert (sender.srtt, sender.rttvar, sender.rto) == (0.1, 0.05, 1.0)


def test_lost_syn_is_resent_with_back_off_and_leaves_one_segment_of_window() -> None:
    """RFC 6298 §5.7 and RFC 5681 §3.1: RTO 3 s, no sample from a resent SYN, initial window of one segment."""
    sender = Sender("reno")
    sender.open(0.0)
    assert sender.next_timeout() == 1.0
    [syn] = sender.on_timeout(1.0)
    assert syn.syn
    assert sender.next_timeout() == 3.0
    sender.on_segment(1.1, ack=1, syn=True)
    assert sender.srtt is None
    assert sender.rto == 3.0
    assert len(sender.write(10_000, t=1.1)) == 1


def test_third_duplicate_ack_starts_fast_retransmit() -> None:
    """RFC 5681 §3.2: ssthresh is half the flight, cwnd that and three segments, one more per further duplicate."""
    sender = connected()
    assert numbers(sender.write(40 * MSS, t=0.1)) == list(range(1, 11))
    assert numbers(sender.on_segment(0.2, ack=1 + MSS)) == [11, 12]
    assert sender.on_segment(0.21, ack=1 + MSS) == []
    assert sender.on_segment(0.22, ack=1 + MSS) == []
    assert numbers(sender.on_segment(0.23, ack=1 + MSS)) == [2]
    assert (sender.state, sender.ssthresh, sender.cwnd) == ("recovery", 11 * MSS // 2, 11 * MSS // 2 + 3 * MSS)
    sender.on_segment(0.24, ack=1 + MSS)
    assert sender.cwnd == 11 * MSS // 2 + 4 * MSS
    sender.on_segment(0.33, ack=1 + 12 * MSS)
    assert (sender.state, sender.cwnd) == ("established", 11 * MSS // 2)


@pytest.mark.parametrize(("preset", "resent"), [("newreno", [5]), ("reno", [])])
def test_partial_ack_resends_the_next_hole_with_newreno_only(preset: str, resent: list[int]) -> None:
    sender = connected(extends=preset, limited_transmit=False)
    sender.write(10 * MSS, t=0.1)
    for n in range(4):
        sender.on_segment(0.2 + n / 100, ack=1 + 2 * MSS)
    assert numbers(sender.on_segment(0.3, ack=1 + 4 * MSS)) == resent


def test_sack_resends_every_hole_that_counts_as_lost() -> None:
    """RFC 6675 §4: segment 2 is lost below three SACKed ones, then 6 too; rule 4 of NextSeg rescues the last one."""
    sender = connected(extends="sack", limited_transmit=False)
    sender.write(10 * MSS, t=0.1)
    edge = [1 + n * MSS for n in range(20)]
    sender.on_segment(0.20, ack=edge[1], sack=[(edge[2], edge[3])])
    sender.on_segment(0.21, ack=edge[1], sack=[(edge[2], edge[4])])
    assert numbers(sender.on_segment(0.22, ack=edge[1], sack=[(edge[2], edge[5])])) == [2]
    sender.on_segment(0.23, ack=edge[1], sack=[(edge[6], edge[7]), (edge[2], edge[5])])
    sender.on_segment(0.24, ack=edge[1], sack=[(edge[6], edge[8]), (edge[2], edge[5])])
    assert numbers(sender.on_segment(0.25, ack=edge[1], sack=[(edge[6], edge[9]), (edge[2], edge[5])])) == [6, 10]


def test_timeout_goes_back_to_one_segment_and_doubles() -> None:
    """RFC 6298 §5.4 to §5.6; the threshold is held when the same segment times out again (RFC 5681 §3.1)."""
    sender = connected()
    sender.write(10 * MSS, t=0.1)
    assert sender.next_timeout() == pytest.approx(1.1)
    assert numbers(sender.on_timeout(1.1)) == [1]
    assert (sender.cwnd, sender.ssthresh, sender.rto) == (MSS, 5 * MSS, 2.0)
    assert numbers(sender.on_timeout(3.1)) == [1]
    assert (sender.ssthresh, sender.rto) == (5 * MSS, 4.0)
    # Karn: the ACK of a resent segment gives no sample, and the back-off stays.
    assert numbers(sender.on_segment(3.2, ack=1 + MSS)) == [2, 3]
    assert sender.rto == 4.0


def test_receivers_window_bounds_the_flight() -> None:
    sender = connected(window=3 * MSS)
    assert numbers(sender.write(10 * MSS, t=0.1)) == [1, 2, 3]
    assert numbers(sender.on_segment(0.2, ack=1 + MSS)) == [4]


def test_fin_follows_the_last_byte_and_ends_the_connection() -> None:
    sender = connected()
    sender.write(MSS + 1, t=0.1)
    [fin] = sender.close(t=0.1)
    assert (fin.seq, fin.length, fin.fin) == (MSS + 2, 0, True)
    sender.on_segment(0.2, ack=MSS + 3)
    assert sender.state == "finished"
    assert sender.next_timeout() is None
    with pytest.raises(ValueError, match="after close"):
        sender.write(1)


def test_receiver_reports_a_duplicate_with_d_sack() -> None:
    """RFC 2883 §4.1: the duplicate comes first, and once."""
    receiver = Receiver("sack")
    receiver.on_segment(0.0, seq=0, syn=True)
    receiver.on_segment(0.1, seq=1, length=MSS)
    [ack] = receiver.on_segment(0.2, seq=1, length=MSS)
    assert (ack.ack, ack.dsack, ack.sack) == (1 + MSS, (1, 1 + MSS), [])
    [ack] = receiver.on_segment(0.3, seq=1 + 2 * MSS, length=MSS)
    assert (ack.ack, ack.dsack, ack.sack) == (1 + MSS, None, [(1 + 2 * MSS, 1 + 3 * MSS)])


def test_two_ends_talk_to_each_other() -> None:
    """Every segment of one end is given to the other 50 ms later, until the connection ends."""
    transport: dict[str, bool | str] = {"extends": "newreno", "timestamps": True}
    sender, receiver = Sender(transport), Receiver(transport)
    down = sender.open(0.0) + sender.write(50_000) + sender.close()
    t = 0.0
    while sender.state != "finished":
        t += 0.05
        up = [
            answer
            for s in down
            for answer in receiver.on_segment(t, seq=s.seq, length=s.length, syn=s.syn, fin=s.fin, tsval=s.tsval)
        ]
        t += 0.05
        down = [
            segment
            for a in up
            for segment in sender.on_segment(
                t, ack=a.ack or 0, window=a.window, syn=a.syn, tsval=a.tsval, tsecr=a.tsecr
            )
        ]
    assert receiver.delivered == 50_000
    assert receiver.state == "closed"
    assert sender.srtt == pytest.approx(0.1, abs=0.002)


def test_wrong_calls_say_what_is_expected() -> None:
    with pytest.raises(ScenarioError, match="did you mean `newreno`"):
        Sender("newrenno")
    with pytest.raises(ScenarioError, match="mss"):
        Sender({"extends": "reno", "mss": "0 B"})
    sender = connected()
    with pytest.raises(ValueError, match="before the last call"):
        sender.write(1, t=0.0)
    with pytest.raises(ValueError, match="in seconds"):
        sender.write(1, t=float("nan"))
    with pytest.raises(ValueError, match="ends after it starts"):
        sender.on_segment(0.2, ack=1, sack=[(5, 5)])

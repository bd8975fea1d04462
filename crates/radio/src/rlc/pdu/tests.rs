//! Octets worked out by hand from the figures of clause 9.2.

use super::*;

/// Shows that a PDU and its octets stand for each other.
fn stands_for(pdu: &AmPdu<'_>, size: IndicatorSize, octets: &[u8]) {
    assert_eq!(pdu.emit(size, octets.len()).as_deref(), Ok(octets));
    assert_eq!(AmPdu::parse(octets, size).as_ref(), Ok(pdu));
}

fn status_is(fields: &[SuperField], end: StatusEnd, octets: &[u8]) {
    let status = Status { fields: fields.to_vec(), end };
    assert_eq!(status.octets(), Some(octets.len()));
    stands_for(&AmPdu::Status(status), IndicatorSize::Seven, octets);
}

fn refused(octets: &[u8], why: ParseError) {
    assert_eq!(AmPdu::parse(octets, IndicatorSize::Seven), Err(why), "{why}");
}

const NO_MORE: StatusEnd = StatusEnd::NoMore;

/// Figure 9.3: D/C 1, SN 0001 0010 0011, P 1, HE 01; LI 0000101 and E 1; LI 1111111 and E 0; five octets, padding.
#[test]
fn amd_pdu_with_an_end_and_padding() {
    let pdu = Amd { sn: 0x123, poll: true, indicators: vec![Indicator::End(5)], data: b"ABCDE", tail: Tail::Padding };
    stands_for(&AmPdu::Data(pdu), IndicatorSize::Seven, b"\x89\x1d\x0b\xfeABCDE\0\0\0");
}

/// No SDU ends: HE is 00 and data begins behind the second octet. With HE 10 the last octet ends an SDU.
#[test]
fn amd_pdu_without_indicators() {
    let mut pdu = Amd { sn: 0xfff, poll: false, indicators: vec![], data: b"AB", tail: Tail::Data };
    stands_for(&AmPdu::Data(pdu.clone()), IndicatorSize::Seven, b"\xff\xf8AB");
    pdu.tail = Tail::SduEnd;
    stands_for(&AmPdu::Data(pdu), IndicatorSize::Seven, b"\xff\xfaAB");
}

/// Fifteen bits: 200 is 000 0000 1100 1000, with E 0 the octets 01 90. One octet behind the end needs no indicator.
#[test]
fn amd_pdu_with_indicators_of_fifteen_bits() {
    let data = [7; 200];
    let pdu = Amd { sn: 0, poll: false, indicators: vec![Indicator::End(200)], data: &data, tail: Tail::Data };
    let mut octets = vec![0x80, 0x01, 0x01, 0x90];
    octets.extend(data);
    stands_for(&AmPdu::Data(pdu.clone()), IndicatorSize::Fifteen, &octets);
    octets.push(0);
    stands_for(&AmPdu::Data(pdu.clone()), IndicatorSize::Fifteen, &octets);
    assert_eq!(AmPdu::Data(pdu).emit(IndicatorSize::Fifteen, octets.len() + 1), Err(EmitError::UnmarkedPadding));
}

/// LI 0 tells that the PDU before was filled, fifteen bits …011 that one octet of it is to be ignored.
#[test]
fn the_end_of_an_sdu_may_be_told_by_the_next_pdu() {
    let mut pdu = Amd { sn: 1, poll: false, indicators: vec![Indicator::PreviousEnded], data: b"A", tail: Tail::Data };
    stands_for(&AmPdu::Data(pdu.clone()), IndicatorSize::Seven, b"\x80\x09\x00A");
    pdu.indicators[0] = Indicator::PreviousEndedShort;
    stands_for(&AmPdu::Data(pdu), IndicatorSize::Fifteen, b"\x80\x09\xff\xf6A");
}

/// LI 1111110: behind the data R2 0, type 000, ACK 0010 and LSN 0x456, then padding of any value.
#[test]
fn amd_pdu_with_a_piggybacked_status() {
    let status = Status { fields: vec![], end: StatusEnd::Ack(0x456) };
    let indicators = vec![Indicator::End(1)];
    let pdu = AmPdu::Data(Amd { sn: 2, poll: false, indicators, data: b"A", tail: Tail::Status(status) });
    stands_for(&pdu, IndicatorSize::Seven, b"\x80\x11\x03\xfcA\x02\x45\x60\0\0");
    assert_eq!(AmPdu::parse(b"\x80\x11\x03\xfcA\x02\x45\x6f\xff", IndicatorSize::Seven), Ok(pdu));
    refused(b"\x80\x11\x03\xfcA\x82\x45\x60", ParseError::ReservedBits);
    refused(b"\x80\x11\x03\xfcA\x12\x45\x60", ParseError::Piggybacked(1));
}

/// Figures 9.4 and 9.8 to 9.12: after D/C and type, nibbles of type, length, numbers of three nibbles, counts.
#[test]
fn status_pdus() {
    status_is(&[], NO_MORE, &[0x00]);
    status_is(&[], StatusEnd::Ack(0x789), &[0x02, 0x78, 0x90]);
    status_is(&[SuperField::Window(0x040)], NO_MORE, &[0x01, 0x04, 0x00]);
    let list = SuperField::List(vec![(0x0ab, 2)]);
    status_is(&[list], StatusEnd::Ack(0x0b0), &[0x03, 0x10, 0xab, 0x22, 0x0b, 0x00]);
    // Sixteen octets of bits have the length 15.
    let bitmap = SuperField::Bitmap { first: 0x0ff, bits: vec![0xa5; 16] };
    let mut octets = vec![0x04, 0xf0, 0xff];
    octets.extend([0xa5; 16]);
    octets.push(0x00);
    status_is(&[bitmap], NO_MORE, &octets);
    status_is(&[SuperField::Poll(0x1ff)], NO_MORE, &[0x08, 0x1f, 0xf0]);
    // §11.5.2.2: nothing ends what fills the PDU, a MRW_ACK of twenty bits here; in a larger PDU that would be padding.
    let answer = SuperField::MoveReceivingWindowAck { n: 2, sn: 0x123 };
    status_is(std::slice::from_ref(&answer), StatusEnd::Full, &[0x07, 0x21, 0x23]);
    let status = AmPdu::Status(Status { fields: vec![answer], end: StatusEnd::Full });
    assert_eq!(status.emit(IndicatorSize::Seven, 4), Err(EmitError::UnmarkedPadding));
}

/// §9.2.2.11.6: 10, then a burst of three (0001, 011 1), 20 at a distance of 7 (111 1), 100 at one of 80, which is 1 010 000
/// in binary and goes out as 000 0, 010 0, 001 1.
#[test]
fn relative_list_in_code_words() {
    let runs = [Run { first: 10, count: 4 }, Run { first: 20, count: 1 }, Run { first: 100, count: 1 }];
    let list = RelativeList::of(&runs).expect("not empty");
    assert_eq!(list.steps, [Step::Burst(3), Step::Next(7), Step::Next(80)]);
    assert_eq!(list.runs(), runs);
    let field = SuperField::RelativeList(list);
    status_is(&[field], StatusEnd::Ack(200), &[0x05, 0x60, 0x0a, 0x17, 0xf0, 0x43, 0x20, 0xc8]);
}

/// Runs on both sides of the end of the number space: 4095 and 0 are two in a row, 2 is two further.
#[test]
fn relative_list_goes_round() {
    let runs = [Run { first: 4095, count: 2 }, Run { first: 2, count: 1 }];
    let list = RelativeList::of(&runs).expect("not empty");
    assert_eq!(list.steps, [Step::Burst(1), Step::Next(2)]);
    assert_eq!(list.runs(), runs);
    assert_eq!(RelativeList::of(&[]), None);
}

/// §9.2.2.11.6: the last code word must end a number, and be no burst indicator.
#[test]
fn code_words_that_make_no_numbers() {
    for words in [&[0b0010][..], &[0b0001], &[0b0011, 0b0001], &[0b0001, 0b0001], &[0b0000, 0b0001]] {
        assert_eq!(RelativeList::from_code_words(0, words), Err(ParseError::CodeWords), "{words:?}");
    }
    // 4095 takes four words; a fifth would be a distance that no sequence number has.
    assert_eq!(RelativeList::from_code_words(0, &[14, 14, 14, 15]).expect("valid").steps, [Step::Next(4095)]);
    assert_eq!(RelativeList::from_code_words(0, &[0, 0, 0, 0, 3]), Err(ParseError::CodeWords));
    let long = RelativeList { first: 0, steps: vec![Step::Next(8); 8] };
    assert_eq!(long.code_words(), Err(EmitError::Field("steps")));
}

/// Figures 9.14 and 9.15; a length of 0 is one SDU that extends above the window.
#[test]
fn moves_of_the_receiving_window() {
    let mut sns = vec![0x010, 0x020];
    let field = SuperField::MoveReceivingWindow { sns: sns.clone(), beyond_window: false, n: 1 };
    status_is(&[field], NO_MORE, &[0x06, 0x20, 0x10, 0x02, 0x01, 0x00]);
    sns.truncate(1);
    let field = SuperField::MoveReceivingWindow { sns, beyond_window: true, n: 0 };
    status_is(&[field], NO_MORE, &[0x06, 0x00, 0x10, 0x00]);
    let field = SuperField::MoveReceivingWindowAck { n: 1, sn: 0x021 };
    status_is(&[field], NO_MORE, &[0x07, 0x10, 0x21, 0x00]);
}

/// Figure 9.6: type 001, RSN 1, R1 000 and 20 bits of HFNI; type 010 with RSN 0.
#[test]
fn resets() {
    let reset = Reset { rsn: true, hfni: 0xabcde };
    stands_for(&AmPdu::Reset(reset), IndicatorSize::Seven, &[0x18, 0xab, 0xcd, 0xe0]);
    let answer = Reset { rsn: false, hfni: 0 };
    stands_for(&AmPdu::ResetAck(answer), IndicatorSize::Seven, &[0x20, 0, 0, 0, 0, 0]);
    refused(&[0x1a, 0xab, 0xcd, 0xe0], ParseError::ReservedBits);
    assert_eq!(AmPdu::Reset(reset).emit(IndicatorSize::Seven, 3), Err(EmitError::TooLong { needs: 4, octets: 3 }));
    let large = Reset { rsn: false, hfni: 1 << 20 };
    assert_eq!(AmPdu::Reset(large).emit(IndicatorSize::Seven, 4), Err(EmitError::Field("hfni")));
}

/// Figure 9.2: SN 1010101 and E 1; LI 1111100 and E 1; LI 0000011 and E 0.
#[test]
fn umd_pdus() {
    let is = |umd: Umd<'_>, size, octets: &[u8]| {
        assert_eq!(umd.emit(size, octets.len()).as_deref(), Ok(octets));
        assert_eq!(Umd::parse(octets, size), Ok(umd));
    };
    let of = |indicators: &[Indicator], data, padding| Umd { sn: 0x55, indicators: indicators.to_vec(), data, padding };
    let seven = IndicatorSize::Seven;
    is(of(&[], b"ABC", false), seven, b"\xaaABC");
    is(of(&[Indicator::Begins, Indicator::End(3)], b"ABCD", false), seven, b"\xab\xf9\x06ABCD");
    is(of(&[Indicator::End(3)], b"ABC", true), seven, b"\xab\x07\xfeABC\0");
    is(of(&[Indicator::Whole], b"ABC", false), seven, b"\xab\xfaABC");
    is(of(&[Indicator::Middle], b"ABC", false), seven, b"\xab\xfcABC");
    is(of(&[Indicator::WholeShort], b"ABC", false), IndicatorSize::Fifteen, b"\xab\xff\xf4ABC\0");
}

/// §9.2.2.9: nothing but data, of any length but null.
#[test]
fn tmd_pdus() {
    assert_eq!(Tmd::parse(b"ABC"), Ok(Tmd { data: b"ABC" }));
    assert_eq!(Tmd { data: b"ABC" }.emit().as_deref(), Ok(&b"ABC"[..]));
    assert_eq!(Tmd::parse(b""), Err(ParseError::TooShort));
    assert_eq!(Tmd { data: b"" }.emit(), Err(EmitError::Field("data")));
}

/// What clause 9.2 reserves, and what contradicts itself, is to be discarded (§10.3).
#[test]
fn what_is_reserved_is_refused() {
    refused(&[], ParseError::TooShort);
    refused(b"\x80\x08", ParseError::TooShort);
    refused(&[0x38, 0, 0], ParseError::ControlType(3));
    refused(b"\x80\x03AB", ParseError::HeaderExtension);
    refused(&[0x09, 0, 0], ParseError::SuperField(9));
    refused(&[0x03, 0x00], ParseError::EmptyList);
    refused(&[0x03, 0x10, 0xab], ParseError::TooShort);
    // Neither NO_MORE nor ACK ends it.
    refused(&[0x01, 0x04, 0x01, 0x04], ParseError::TooShort);
    for value in [0x7c, 0x7d] {
        refused(&[0x80, 0x01, value << 1, 1, 2], ParseError::ReservedIndicator(u16::from(value)));
    }
    refused(b"\x80\x01\x06AB", ParseError::IndicatorBeyondPdu(3));
    refused(b"\x80\x01\x07\x06ABC", ParseError::IndicatorOrder(3));
    refused(b"\x80\x01\x07\x00ABC", ParseError::MisplacedIndicator(0));
    refused(b"\x80\x01\xff\x06ABC", ParseError::MisplacedIndicator(0x7f));
}

/// §9.2.2.8: seven bits up to 126 octets of an AMD PDU and 125 of a UMD PDU.
#[test]
fn size_of_indicators_by_size_of_pdus() {
    let sizes = [IndicatorSize::Seven, IndicatorSize::Fifteen];
    assert_eq!([126, 127].map(IndicatorSize::of_amd), sizes);
    assert_eq!([125, 126].map(IndicatorSize::of_umd), sizes);
    assert_eq!(sizes.map(IndicatorSize::octets), [1, 2]);
}

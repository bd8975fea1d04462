//! Packets that cannot get through an access, because something on the way is smaller than they are.

use cellwind_engine::directions::Direction;
use cellwind_engine::time::Span;
use cellwind_engine::units::{Rate, Size};
use cellwind_path::settings::QueueLimit;
use cellwind_radio::pdcp::settings::Compression;
use cellwind_radio::rlc::settings::RlcSettings;
use cellwind_radio::umts::settings::{UmtsSettings, channels};
use cellwind_transport::application::ApplicationSettings;

use super::out_of_range;
use super::warnings::visits;
use crate::error::ScenarioError;
use crate::model::{Access, Bulk, Flow, Protocol, Scenario};

/// The smallest packet there is, a header (RFC 791 §3.1).
const SMALLEST_PACKET: Size = Size::from_bytes(20);
/// The longest that TCP waits for an answer, before it has sent a packet again and again (RFC 6298 §2.5).
const LONGEST_WAIT: Span = Span::from_secs(60);

/// Refuses a queue that no packet can join, and all have to.
pub fn queue(queue: QueueLimit) -> Result<(), ScenarioError> {
    match queue {
        QueueLimit::Packets(0) => Err(out_of_range("0 packets", "at least 1 packet: every packet waits here first")),
        QueueLimit::Bytes(bytes) => buffer(bytes),
        QueueLimit::Packets(_) | QueueLimit::Unlimited => Ok(()),
    }
}

/// Refuses a buffer that is smaller than any packet.
pub fn buffer(bytes: Size) -> Result<(), ScenarioError> {
    if bytes >= SMALLEST_PACKET {
        return Ok(());
    }
    Err(out_of_range(bytes, &format!("at least {SMALLEST_PACKET}, which every packet has (RFC 791 §3.1)")))
}

/// What the channels of a direction carry, where that is less than their rates say.
pub fn rates(umts: &UmtsSettings, direction: Direction) -> Vec<String> {
    let bearer = umts.directions.get(direction);
    let effective = |channel| {
        let format = bearer.format_on(channel)?;
        let bits = u128::from(u64::from(format.blocks) * bearer.payload() * 8);
        let effective = Rate::from_bps((bits * 1_000_000_000 / u128::from(channel.tti.as_nanos())) as u64)?;
        let pdus = match format.blocks {
            1 => "1 PDU".to_string(),
            blocks => format!("{blocks} PDUs"),
        };
        (effective < channel.rate).then(|| {
            let payload = Size::from_bytes(bearer.payload());
            format!("{} are {effective} in effect: a TTI of {} has {pdus} of {payload}", channel.rate, channel.tti)
        })
    };
    let mut texts: Vec<String> = channels(umts, direction).filter_map(effective).collect();
    texts.dedup();
    texts
}

/// What cannot pass the accesses, or hardly, of what the flows send or a live run may.
pub fn warnings(scenario: &Scenario) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, access) in &scenario.access {
        for direction in Direction::BOTH {
            for (who, packet) in packets(scenario, name, direction) {
                let Packet { header, payload } = packet;
                let size = Size::from_bytes(header + payload);
                let way = direction.word();
                if let Some(why) = narrow(access, direction, packet) {
                    warnings.push(format!("{who}: packets of {size} do not get through access.{name} {way}: {why}"));
                }
                if let Some((capacity, span)) = slow(access, direction, size) {
                    warnings.push(format!(
                        "{who}: a packet of {size} takes {span} at the {capacity} that access.{name} carries {way} \
                         (`cell.capacity`)"
                    ));
                }
            }
        }
    }
    warnings
}

/// A packet, in octets.
#[derive(Clone, Copy)]
struct Packet {
    header: u64,
    payload: u64,
}

/// Bytes of header on each packet with data, but for options.
pub fn header(protocol: &Protocol) -> u64 {
    match protocol {
        Protocol::Tcp(tcp) => tcp.header.as_bytes(),
        Protocol::Udp(udp) => udp.header.as_bytes(),
        Protocol::Tfrc(tfrc) => tfrc.header.as_bytes(),
        Protocol::Atp(atp) => atp.header.as_bytes(),
    }
}

/// The largest packets that flows send through an access, and the live ones where there are no flows.
fn packets(scenario: &Scenario, access: &str, direction: Direction) -> Vec<(String, Packet)> {
    if scenario.flow.is_empty() {
        let largest = Packet { header: 0, payload: scenario.live.mtu.as_bytes() };
        return vec![("live".into(), largest)];
    }
    let passes = |flow: &Flow| flow.direction == direction && visits(scenario, scenario.terminal_of(flow), access);
    let flows = scenario.flow.iter().filter(|(_, flow)| passes(flow));
    flows.filter_map(|(name, flow)| Some((format!("flow.{name}"), largest(flow)?))).collect()
}

/// The largest packet of what a flow carries; none where that is in a file.
fn largest(flow: &Flow) -> Option<Packet> {
    use ApplicationSettings as A;
    let protocol = &flow.transport.protocol;
    let full = protocol.payload();
    let message = match (&flow.bulk, &flow.application) {
        (Some(Bulk::Limited(amount)), _) => amount.bytes(full),
        (_, Some(A::Trace(_))) => return None,
        (_, Some(A::Files(files))) => files.sizes.iter().map(|size| size.as_bytes()).max()?,
        (_, Some(A::RequestReply(settings))) => settings.reply.as_bytes(),
        (_, Some(A::Ping(ping))) => ping.size.as_bytes(),
        (_, Some(A::Web(web))) => web.html.max(web.object).as_bytes(),
        (_, Some(A::Cbr(cbr))) => cbr.packet.as_bytes(),
        (_, Some(A::OnOff(on_off))) => on_off.packet.as_bytes(),
        (_, Some(A::News(news))) => news.update.as_bytes(),
        (_, Some(A::Voip(voip))) => (voip.frame + voip.header).as_bytes(),
        _ => full,
    };
    let options = match protocol {
        Protocol::Tcp(tcp) => tcp.mss.as_bytes().saturating_sub(full),
        _ => 0,
    };
    Some(Packet { header: header(protocol) + options, payload: message.min(full) })
}

/// Why a packet does not get into the bearer, if it never does.
fn narrow(access: &Access, direction: Direction, packet: Packet) -> Option<String> {
    let whole = packet.header + packet.payload;
    match access {
        Access::Link(_) => None,
        Access::BlockArq(bearer) => too_small("queue", bearer.get(direction).queue, whole),
        Access::Umts(umts) => {
            let bearer = umts.directions.get(direction);
            let pdcp = &umts.shared.pdcp;
            let octets = match &pdcp.compression {
                Compression::None => whole + u64::from(pdcp.header),
                _ => packet.payload, // at the least
            };
            match &bearer.rlc {
                RlcSettings::Am(am) => too_small("rlc.queue", am.queue, octets).or_else(|| {
                    let buffer = am.buffer.filter(|buffer| buffer.as_bytes() < octets)?;
                    Some(format!("`rlc.buffer` has {buffer}"))
                }),
                RlcSettings::Um(um) => too_small("rlc.queue", um.queue, whole),
                RlcSettings::Tm(tm) => too_small("rlc.queue", tm.queue, whole).or_else(|| {
                    if !tm.segmentation {
                        return (octets > bearer.pdu.as_bytes()).then(|| {
                            format!(
                                "in transparent mode without `segmentation` a packet has one PDU, of {} (TS 25.322 §9.2.2.9)",
                                bearer.pdu
                            )
                        });
                    }
                    let formats = channels(umts, direction).filter_map(|channel| bearer.format_on(channel));
                    let most = formats.map(|format| u64::from(format.blocks) * bearer.pdu.as_bytes()).max()?;
                    (octets > most).then(|| {
                        format!(
                            "in transparent mode a packet has the PDUs of one TTI, {} together (TS 25.322 §9.2.2.9)",
                            Size::from_bytes(most)
                        )
                    })
                }),
            }
        }
    }
}

fn too_small(key: &str, queue: QueueLimit, octets: u64) -> Option<String> {
    match queue {
        QueueLimit::Bytes(bytes) if bytes.as_bytes() < octets => Some(format!("`{key}` has {bytes}")),
        _ => None,
    }
}

/// What a cell carries, and how long it takes for a packet, where that is longer than anybody waits.
fn slow(access: &Access, direction: Direction, packet: Size) -> Option<(Rate, Span)> {
    let Access::Umts(umts) = access else { return None };
    let capacity = umts.shared.cell.as_ref()?.capacity(direction);
    let span = capacity.time_for(packet);
    (span > LONGEST_WAIT).then_some((capacity, span))
}

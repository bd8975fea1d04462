//! Two ends of an application with a wire between them: a rate, a delay, and packets that are lost.

use cellwind_engine::machine::{Machine, Outbox, Port};
use cellwind_engine::packet::{FlowId, Packet};
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::{Rate, Size};

use super::end::End;
use super::settings::ApplicationSettings;
use crate::carrier::Protocol;
use crate::tcp::settings::TcpSettings;
use crate::udp::UdpSettings;

/// A wire of no limit in rate with 50 ms each way.
pub const DELAY: Span = Span::from_millis(50);

/// What runs on the wire.
pub struct Run {
    pub source: End,
    pub sink: End,
}

/// Both directions of a wire.
pub struct Wire {
    /// None sends at once.
    pub rate: Option<Rate>,
    /// Data packets of the source that are lost, by number from 0.
    pub lost: Vec<usize>,
}

/// A wire without limit and loss.
pub const IDEAL: Wire = Wire { rate: None, lost: Vec::new() };

pub fn tcp() -> Protocol {
    Protocol::Tcp(TcpSettings::default())
}

pub fn udp() -> Protocol {
    Protocol::Udp(UdpSettings::default())
}

/// Runs a flow that starts at 0 until nothing happens any more.
pub fn run(settings: &ApplicationSettings, protocol: &Protocol, wire: &Wire) -> Run {
    let flow = FlowId(0);
    let source = End::source(settings, protocol, flow, Time::ZERO, Stream::new(1, 0, "test"));
    let sink = End::sink(settings, protocol, flow, Time::ZERO);
    let mut ends = [source, sink];
    let mut out = Outbox::new(false);
    let mut free = [Time::ZERO; 2];
    let mut under_way: Vec<(Time, usize, Packet)> = Vec::new();
    let mut data = 0;
    loop {
        let arrival = under_way.iter().map(|&(time, ..)| time).min();
        let timers = [ends[0].next_timeout(), ends[1].next_timeout()];
        let Some(now) = arrival.into_iter().chain(timers.into_iter().flatten()).min() else { break };
        let place = under_way.iter().position(|&(time, ..)| time == now);
        let acts = match place.map(|place| under_way.remove(place)) {
            Some((_, end, packet)) => {
                ends[end].on_packet(now, Port(0), &packet, &mut out);
                end
            }
            None => {
                let end = usize::from(timers[0] != Some(now));
                ends[end].on_timeout(now, &mut out);
                end
            }
        };
        for (_, packet) in out.take_packets() {
            let takes = wire.rate.map_or(Span::ZERO, |rate| rate.time_for(Size::from_bytes(packet.size().as_bytes())));
            free[acts] = free[acts].max(now) + takes;
            let is_data = acts == 0 && packet.payload > 0;
            if !(is_data && wire.lost.contains(&data)) {
                under_way.push((free[acts] + DELAY, 1 - acts, packet));
            }
            data += usize::from(is_data);
        }
        ends.iter().for_each(|end| end.check().unwrap());
    }
    let [source, sink] = ends;
    assert!(sink.delivered() <= source.written(), "nothing comes from nowhere");
    Run { source, sink }
}

/// Milliseconds until the application came to its end.
pub fn completed_ms(run: &Run) -> f64 {
    run.sink.completed_at().expect("it came to its end").as_nanos() as f64 / 1e6
}

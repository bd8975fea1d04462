//! What a decompressor tells its compressor, over the other direction of the bearer.

use cellwind_engine::packet::{Body, FlowId, Packet, SackBlocks};

use super::HEADER_OCTETS;

/// A message from a decompressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A TCP context is damaged (CONTEXT_STATE, RFC 2507 §10.2).
    ContextState {
        /// Its number.
        cid: u8,
    },
    /// An answer of robust header compression (RFC 3095 §5.7.6).
    Rohc {
        /// Number of the context.
        cid: u8,
        /// What is said of it.
        answer: Answer,
    },
}

/// What an answer says of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is there.
    Ack,
    /// Its dynamic part is damaged.
    Nack,
    /// It is not there, or its static part is damaged.
    StaticNack,
}

impl Feedback {
    /// Octets of its PDCP PDU.
    pub fn octets(self) -> u32 {
        HEADER_OCTETS
            + match self {
                // Type, count, and number of the context.
                Feedback::ContextState { .. } => 3,
                // Type octet, Add-CID, and FEEDBACK-1 or FEEDBACK-2 (RFC 3095 §5.2.2, §5.7.6.1).
                Feedback::Rohc { answer: Answer::Ack, .. } => 3,
                Feedback::Rohc { .. } => 4,
            }
    }

    /// The message as a packet that RLC can carry; it belongs to no flow.
    pub fn to_packet(self) -> Packet {
        let (kind, cid) = match self {
            Feedback::ContextState { cid } => (1, cid),
            Feedback::Rohc { cid, answer: Answer::Ack } => (2, cid),
            Feedback::Rohc { cid, answer: Answer::Nack } => (3, cid),
            Feedback::Rohc { cid, answer: Answer::StaticNack } => (4, cid),
        };
        Packet {
            header: 0,
            payload: self.octets(),
            flow: FlowId::NONE,
            body: Body::NONE,
            sack: SackBlocks::of_words([kind, u64::from(cid), 0, 0]),
            ..Packet::EMPTY
        }
    }

    /// The message that a packet is, if it is one.
    pub fn of_packet(packet: &Packet) -> Option<Self> {
        if packet.flow != FlowId::NONE {
            return None;
        }
        let [kind, cid, ..] = packet.sack.words();
        let cid = cid as u8;
        Some(match kind {
            1 => Feedback::ContextState { cid },
            2 => Feedback::Rohc { cid, answer: Answer::Ack },
            3 => Feedback::Rohc { cid, answer: Answer::Nack },
            4 => Feedback::Rohc { cid, answer: Answer::StaticNack },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_survives_the_way_as_a_packet() {
        for answer in [Answer::Ack, Answer::Nack, Answer::StaticNack] {
            let feedback = Feedback::Rohc { cid: 7, answer };
            assert_eq!(Feedback::of_packet(&feedback.to_packet()), Some(feedback));
        }
        let feedback = Feedback::ContextState { cid: 15 };
        assert_eq!(Feedback::of_packet(&feedback.to_packet()), Some(feedback));
        assert_eq!(feedback.to_packet().size().as_bytes(), 4);
        assert_eq!(Feedback::of_packet(&Packet::EMPTY), None);
    }
}

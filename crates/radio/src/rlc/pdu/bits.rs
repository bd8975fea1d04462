//! Bits in the order of TS 25.322 §9.2.2: the first bit is the most significant one of the first octet.

use super::{EmitError, ParseError};

/// Takes bits from octets.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    octets: &'a [u8],
    /// Bits taken.
    taken: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Reader { octets, taken: 0 }
    }

    /// The next `bits` (at most 24) as a number.
    pub(super) fn take(&mut self, bits: usize) -> Result<u32, ParseError> {
        let end = self.taken + bits;
        if end > self.octets.len() * 8 {
            return Err(ParseError::TooShort);
        }
        let touched = &self.octets[self.taken / 8..end.div_ceil(8)];
        let number = touched.iter().fold(0u32, |number, &octet| number << 8 | u32::from(octet));
        let below = end.next_multiple_of(8) - end;
        self.taken = end;
        Ok(number >> below & ((1 << bits) - 1))
    }

    /// The next `bits` (at most 16) as a number.
    pub(super) fn take_u16(&mut self, bits: usize) -> Result<u16, ParseError> {
        Ok(self.take(bits)? as u16)
    }

    /// Whether all bits are taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.taken == self.octets.len() * 8
    }

    /// What follows, from the next whole octet on.
    pub(super) fn rest(self) -> &'a [u8] {
        &self.octets[self.taken.div_ceil(8)..]
    }
}

/// Puts bits into octets.
#[derive(Debug)]
pub(super) struct Writer {
    octets: Vec<u8>,
    /// Bits of the last octet that nothing was put into.
    free: usize,
}

impl Writer {
    pub(super) fn new() -> Self {
        Writer { octets: Vec::new(), free: 0 }
    }

    /// Puts the lowest `bits` of `value`.
    pub(super) fn put(&mut self, value: u32, bits: usize) {
        for bit in (0..bits).rev() {
            if self.free == 0 {
                self.octets.push(0);
                self.free = 8;
            }
            self.free -= 1;
            let last = self.octets.last_mut().expect("an octet with a free bit");
            *last |= ((value >> bit & 1) as u8) << self.free;
        }
    }

    /// Puts `value`, if `bits` can hold it.
    pub(super) fn put_field(&mut self, name: &'static str, value: u32, bits: usize) -> Result<(), EmitError> {
        if value >> bits != 0 {
            return Err(EmitError::Field(name));
        }
        self.put(value, bits);
        Ok(())
    }

    /// Puts whole octets, at the beginning of an octet.
    pub(super) fn put_octets(&mut self, octets: &[u8]) {
        debug_assert_eq!(self.free, 0);
        self.octets.extend_from_slice(octets);
    }

    /// Octets begun.
    pub(super) fn octets(&self) -> usize {
        self.octets.len()
    }

    /// Whether the last octet is full.
    pub(super) fn is_whole(&self) -> bool {
        self.free == 0
    }

    /// The PDU of `octets`; padding is zeros here and may be anything (§9.2.2.10).
    pub(super) fn fill(mut self, octets: usize) -> Result<Vec<u8>, EmitError> {
        if self.octets.len() > octets {
            return Err(EmitError::TooLong { needs: self.octets.len(), octets });
        }
        self.octets.resize(octets, 0);
        Ok(self.octets)
    }
}

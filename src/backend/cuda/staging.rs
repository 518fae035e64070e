//! Pinned memory, through which a batch goes to the GPU in one copy and its outputs come back in one.

use super::device::Failed;
use crate::backend::Batch;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, DriverError, PinnedHostSlice};
use std::ops::Range;
use std::sync::Arc;

/// Room for so many indices a position, at least: more than any position has legal moves. Then the memory grows only with the number of
/// positions.
const INDICES: usize = 256;

/// The memory of the largest launch so far; words of 32 bits.
#[derive(Default)]
pub struct Staging {
    input: Option<Pair>,
    output: Option<Pair>,
}

/// The same numbers on both sides.
struct Pair {
    host: PinnedHostSlice<f32>,
    device: CudaSlice<f32>,
}

/// Where a launch finds its input and puts its output.
pub struct Staged<'a> {
    /// `[positions, planes, 8, 8]`.
    pub planes: CudaView<'a, f32>,
    /// `[positions]`, `u32`: where each position's indices end.
    pub ends: CudaView<'a, f32>,
    /// `u16`: all indices.
    pub indices: CudaView<'a, f32>,
    /// `[positions]`.
    pub values: CudaView<'a, f32>,
    /// One for each index.
    pub logits: CudaView<'a, f32>,
}

impl Staging {
    /// Begins to copy positions of a batch to the GPU.
    pub fn upload(
        &mut self,
        stream: &Arc<CudaStream>,
        batch: &Batch,
        positions: Range<usize>,
    ) -> Result<Staged<'_>, Failed> {
        let span = batch.span(positions.clone());
        let (count, indices) = (positions.len(), span.len());
        let planes_end = count * batch.planes_per_position() * 64;
        let (ends_end, room) = (planes_end + count, indices.max(count * INDICES));
        let failed = Failed::to("allocating room for a batch");
        let input = reserve(&mut self.input, stream, ends_end + room.div_ceil(2), WRITTEN)
            .map_err(&failed)?;
        let output = reserve(&mut self.output, stream, count + room, READ).map_err(&failed)?;

        let words = input.host.as_mut_slice().map_err(Failed::to("waiting for the last batch"))?;
        let (planes, rest) = words.split_at_mut(planes_end);
        for (to, position) in planes.chunks_exact_mut(planes_end / count).zip(positions.clone()) {
            to.copy_from_slice(batch.planes(position));
        }
        let (ends, rest) = rest.split_at_mut(count);
        for (to, position) in ends.iter_mut().zip(positions) {
            let end = batch.span(position..position + 1).end - span.start;
            *to = f32::from_bits(end as u32);
        }
        let pairs = batch.all_indices()[span].chunks(2);
        for (to, pair) in rest.iter_mut().zip(pairs) {
            let second = pair.get(1).copied().unwrap_or_default();
            *to = f32::from_bits(u32::from(pair[0]) | u32::from(second) << 16);
        }
        let used = ends_end + indices.div_ceil(2);
        // The slice, unlike the pinned memory it is of, is not waited for: that is done by whoever synchronises the stream.
        stream
            .memcpy_htod(&words[..used], &mut input.device)
            .map_err(Failed::to("copying a batch to the GPU"))?;
        Ok(Staged {
            planes: input.device.slice(..planes_end),
            ends: input.device.slice(planes_end..ends_end),
            indices: input.device.slice(ends_end..),
            values: output.device.slice(..count),
            logits: output.device.slice(count..),
        })
    }

    /// Waits for the outputs.
    pub fn download(
        &mut self,
        stream: &Arc<CudaStream>,
        values: &mut [f32],
        logits: &mut [f32],
    ) -> Result<(), Failed> {
        let Some(Pair { host, device }) = &mut self.output else { return Ok(()) };
        let failed = Failed::to("evaluating a batch");
        let used = values.len() + logits.len();
        let words = &mut host.as_mut_slice().map_err(&failed)?[..used];
        let copied = stream.memcpy_dtoh(&device.slice(..used), words);
        // Also after a failure nothing may be on its way any more when the memory is used again.
        stream.synchronize().and(copied).map_err(&failed)?;
        let (read_values, read_logits) = words.split_at(values.len());
        values.copy_from_slice(read_values);
        logits.copy_from_slice(read_logits);
        Ok(())
    }
}

/// How the host's side is cached: write-combined where it is only written, which makes the copy faster, and reading very slow.
const WRITTEN: u32 = cudarc::driver::sys::CU_MEMHOSTALLOC_WRITECOMBINED;
const READ: u32 = 0;

/// Memory for so many words. The old one is freed before new one is asked for.
fn reserve<'a>(
    pair: &'a mut Option<Pair>,
    stream: &Arc<CudaStream>,
    words: usize,
    flags: u32,
) -> Result<&'a mut Pair, DriverError> {
    if pair.as_ref().is_none_or(|pair| pair.host.len() < words) {
        *pair = None;
        let context: &Arc<CudaContext> = stream.context();
        // SAFETY: for whatever is read of it, `upload` or a copy from the GPU has written before.
        let host = unsafe { context.alloc_pinned_with_flags(words, flags)? };
        // SAFETY: for whatever the kernel or a copy reads of it, a copy or the kernel has written before.
        let device = unsafe { stream.alloc(words)? };
        *pair = Some(Pair { host, device });
    }
    Ok(pair.as_mut().expect("there is one now"))
}

//! Archives written by hand, byte for byte, with what PyTorch would not write.

use fianchetto_convert::Failure;
use fianchetto_convert::checkpoint::Checkpoint;
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;

/// An archive with this table of contents and one storage, the f32 numbers 0 to 11.
fn archive(pickle: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let storage: Vec<u8> = (0..12).flat_map(|n: u8| f32::from(n).to_le_bytes()).collect();
    for (name, data) in [("a/data.pkl", pickle), ("a/data/0", &storage)] {
        zip.start_file(name, stored).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn text(text: &str) -> Vec<u8> {
    [&[0x8c, text.len() as u8], text.as_bytes()].concat()
}

fn tuple(numbers: &[i64]) -> Vec<u8> {
    let mut bytes = vec![b'('];
    for n in numbers {
        bytes.extend([0x8a, 8]);
        bytes.extend(n.to_le_bytes());
    }
    bytes.push(b't');
    bytes
}

/// `{"w": _rebuild_tensor_v2(storage "0" of `elements`, offset, shape, strides)}`
fn tensor(elements: i64, offset: i64, shape: &[i64], strides: &[i64]) -> Vec<u8> {
    let number = |n| tuple(&[n])[1..11].to_vec();
    [
        b"\x80\x02}".to_vec(),
        text("w"),
        b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec(),
        text("storage"),
        b"ctorch\nFloatStorage\n".to_vec(),
        text("0"),
        text("cpu"),
        number(elements),
        b"tQ".to_vec(),
        number(offset),
        tuple(shape),
        tuple(strides),
        b"tRs.".to_vec(),
    ]
    .concat()
}

#[test]
fn views_are_read_in_row_major_order() {
    for (offset, shape, strides, expected) in [
        (0, &[2, 3][..], &[3, 1][..], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0][..]),
        (1, &[2, 3], &[1, 2], &[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
        (0, &[2, 2, 2], &[1, 4, 2], &[0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]),
        (7, &[2, 2], &[0, 0], &[7.0, 7.0, 7.0, 7.0]),
        (11, &[], &[], &[11.0]),
        (11, &[1], &[9_000_000_000_000_000_000], &[11.0]),
    ] {
        let bytes = archive(&tensor(12, offset, shape, strides));
        let checkpoint = Checkpoint::read(&bytes).unwrap();
        assert_eq!(
            checkpoint.tensors["w"].values().unwrap(),
            expected,
            "{offset} {shape:?} {strides:?}"
        );
    }
}

#[test]
fn views_that_reach_outside_are_refused() {
    for (elements, offset, shape, strides, expected) in [
        (12, 0, &[13][..], &[1][..], "reaches outside its storage of 12 elements"),
        (12, 12, &[1], &[1], "reaches outside"),
        (12, 1, &[3, 4], &[4, 1], "reaches outside"),
        (12, i64::MAX, &[2], &[i64::MAX], "reaches outside"),
        (12, 0, &[i64::MAX, i64::MAX, i64::MAX], &[0, 0, 0], "reaches outside"),
        (12, 0, &[i64::MAX, 2], &[i64::MAX, 1], "reaches outside"),
        (12, 0, &[2, 2], &[1], "2 dimensions but 1 strides"),
        (12, 0, &[0], &[1], "no elements"),
        (12, 0, &[-1], &[1], "its shape is no list of numbers from 0"),
        (12, 3, &[2], &[-1], "its stride is no list"),
        (12, -1, &[2], &[1], "its storage offset is no number"),
        (13, 0, &[2], &[1], "holds 12 elements, expected 13"),
        (-1, 0, &[2], &[1], "holds 12 elements, expected -1"),
    ] {
        let bytes = archive(&tensor(elements, offset, shape, strides));
        let Failure(text) = Checkpoint::read(&bytes).unwrap_err();
        assert!(text.starts_with("tensor w: ") && text.contains(expected), "{text}");
    }
}

#[test]
fn nothing_but_tensors_is_accepted() {
    for (pickle, expected) in [
        (
            &b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R."[..],
            "asks for os.system: refused",
        ),
        (
            b"\x80\x02c__builtin__\neval\n(X\x01\x00\x00\x001tR.",
            "asks for __builtin__.eval: refused",
        ),
        (
            b"\x80\x02ctorch.storage\n_load_from_bytes\n.",
            "asks for torch.storage._load_from_bytes: refused",
        ),
        (b"\x80\x02cnumpy\x1b[31m\ncore\n.", "asks for numpy\\u{1b}[31m.core: refused"),
        (b"\x80\x02(ios\nsystem\n.", "instruction 0x69 at byte 3"),
        (b"\x80\x02ccollections\nOrderedDict\n)\x81.", "instruction 0x81"),
        (b"\x80\x02\x82\x01.", "instruction 0x82"),
        (b"\x80\x00.", "protocol 0, expected 2 to 5"),
        (b"\x80\x02K\x01)R.", "called that is no function"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "arguments that torch.save does not write"),
        (b"\x80\x02]K\x01K\x02s.", "a dict is missing"),
        (b"\x80\x02K\x01.", "the checkpoint is no dict"),
        // A dict that holds itself as `model`.
        (
            b"\x80\x02}q\x00X\x05\x00\x00\x00modelh\x00s.",
            "no tensors at `model`, which holds model",
        ),
    ] {
        let Failure(text) = Checkpoint::read(&archive(pickle)).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn what_is_no_checkpoint_is_told() {
    for (bytes, expected) in [
        (&b""[..], "0 bytes that are neither"),
        (b"PK\x03\x04 and no more", "damaged or cut short"),
        (b"\x80\x04}.", "a bare Python pickle"),
        (b"\x10\0\0\0\0\0\0\0{\"a\":1}", "the safetensors file is damaged"),
        (b"GGUF\x03\0\0\0\0\0\0\0", "neither a zip archive of torch.save nor a safetensors file"),
    ] {
        let Failure(text) = Checkpoint::read(bytes).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}

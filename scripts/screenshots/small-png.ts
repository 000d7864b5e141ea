import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLORS = 256;
const EXACT_COLORS = 96;

/** Above every colour of 24 bits. */
const OTHER_COLORS = 2 ** 24;

/** Pixels row by row, each three or four bytes. */
interface Picture {
  readonly width: number;
  readonly bytesPerPixel: number;
  readonly pixels: Buffer;
}

/**
 * The same picture with at most 256 colours, as a PNG with a palette. Pictures of pages have few colours
 * but for the edges of letters, so nobody sees the difference, and the file is a third.
 * Takes PNGs of 8 bits a channel without interlacing, as browsers write them.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, bytesPerPixel, pixels } = decode(png);
  const exact = frequentColors(pixels, bytesPerPixel);
  for (let dropped = 0; ; dropped++) {
    const keyAt = (at: number) => keyOf(pixels, at, dropped, exact);
    const palette = paletteOf(pixels, bytesPerPixel, keyAt);
    if (palette.size <= MAX_COLORS)
      return encode(width, pixels.length / bytesPerPixel, bytesPerPixel, keyAt, palette);
  }
}

function decode(png: Buffer): Picture {
  const chunks = chunksOf(png);
  const header = chunks.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(13);
  const width = header.readUInt32BE(0);
  const colorType = header[9];
  if (header[8] !== 8 || (colorType !== 2 && colorType !== 6) || header[12] !== 0)
    throw new Error('the picture is no PNG of 8 bits a channel without interlacing');
  const bytesPerPixel = colorType === 2 ? 3 : 4;
  const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data));
  return {
    width,
    bytesPerPixel,
    pixels: unfilter(inflateSync(data), width * bytesPerPixel, bytesPerPixel),
  };
}

function chunksOf(png: Buffer): readonly { readonly type: string; readonly data: Buffer }[] {
  const chunks = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += length + 12;
  }
  return chunks;
}

/** Undoes what each row says was done to it (PNG specification, section 9). */
function unfilter(raw: Buffer, rowBytes: number, step: number): Buffer {
  const rows = raw.length / (rowBytes + 1);
  const pixels = Buffer.alloc(rows * rowBytes);
  for (let row = 0; row < rows; row++) {
    const filter = byte(raw, row * (rowBytes + 1));
    const start = row * rowBytes;
    for (let x = 0; x < rowBytes; x++) {
      const at = start + x;
      const left = x < step ? 0 : byte(pixels, at - step);
      const corner = x < step ? 0 : byte(pixels, at - rowBytes - step);
      const above = byte(pixels, at - rowBytes);
      pixels[at] = byte(raw, row * (rowBytes + 1) + 1 + x) + predicted(filter, left, above, corner);
    }
  }
  return pixels;
}

/** What lies before the picture counts as 0. */
function byte(bytes: Buffer, at: number): number {
  return bytes[at] ?? 0;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    default: {
      const guess = left + above - corner;
      const [byLeft, byAbove, byCorner] = [left, above, corner].map((value) => Math.abs(guess - value));
      if (byLeft === undefined || byAbove === undefined || byCorner === undefined) return 0;
      if (byLeft <= byAbove && byLeft <= byCorner) return left;
      return byAbove <= byCorner ? above : corner;
    }
  }
}

interface Color {
  readonly place: number;
  /** Red, green, blue, and how many pixels they are summed over. */
  readonly sums: [number, number, number, number];
}

/** Surfaces and lines, which must look as they are: only the edges of letters may share colours. */
function frequentColors(pixels: Buffer, step: number): ReadonlySet<number> {
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += step) {
    const color = rounded(pixels, at, 0);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const byCount = [...counts].toSorted(([, one], [, other]) => other - one);
  return new Set(byCount.slice(0, EXACT_COLORS).map(([color]) => color));
}

/** The colours that remain when those with the same key become one. */
function paletteOf(pixels: Buffer, step: number, keyAt: (at: number) => number): ReadonlyMap<number, Color> {
  const palette = new Map<number, Color>();
  for (let at = 0; at < pixels.length; at += step) {
    const key = keyAt(at);
    const color = palette.get(key) ?? { place: palette.size, sums: [0, 0, 0, 0] };
    color.sums[0] += byte(pixels, at);
    color.sums[1] += byte(pixels, at + 1);
    color.sums[2] += byte(pixels, at + 2);
    color.sums[3]++;
    palette.set(key, color);
  }
  return palette;
}

/** Frequent colours have keys of their own; of the others the lowest bits are not told apart. */
function keyOf(pixels: Buffer, at: number, dropped: number, exact: ReadonlySet<number>): number {
  const color = rounded(pixels, at, 0);
  return exact.has(color) ? color : OTHER_COLORS + rounded(pixels, at, dropped);
}

function rounded(pixels: Buffer, at: number, dropped: number): number {
  const channel = (offset: number) => byte(pixels, at + offset) >> dropped;
  return (channel(0) << 16) | (channel(1) << 8) | channel(2);
}

function encode(
  width: number,
  pixelCount: number,
  step: number,
  keyAt: (at: number) => number,
  palette: ReadonlyMap<number, Color>,
): Buffer {
  const height = pixelCount / width;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colors = [...palette.values()].flatMap(({ sums: [red, green, blue, count] }) =>
    [red, green, blue].map((sum) => Math.round(sum / count)),
  );
  const rows = Buffer.alloc(height * (width + 1));
  for (let pixel = 0; pixel < pixelCount; pixel++) {
    const row = Math.floor(pixel / width);
    rows[row * (width + 1) + 1 + (pixel % width)] = palette.get(keyAt(pixel * step))?.place ?? 0;
  }
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(colors)),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

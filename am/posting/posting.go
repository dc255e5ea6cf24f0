// Package posting is the codec of posting lists: ascending TIDs of one key, packed.
//
// A list is held in the one of three ways that takes the least (docs/format.md). Elias-Fano codes take about two bits a
// TID more than the logarithm of their mean distance. A bitmap takes a bit for each TID that there could be, from the
// list's first to its last, and ORs into a segment's bitset a word at a time; runs are for what is nearly all there. The
// latter two are for lists within one window of 32,768 TIDs, whose bitmap fits half a page.
//
// TIDs are relative to the first of a run, 32 bits. The functions are pure and may be called concurrently. What must
// never break: no content makes Append or Fill read outside of what they are given, loop or take much memory.
package posting

import (
	"encoding/binary"
	"math/bits"

	"wideleaf/tid"
)

const (
	// WindowBits is the width of a window: TIDs that are equal above it may be one bitmap.
	WindowBits = 15
	// MaxTIDs is the most TIDs of a list.
	MaxTIDs = 1 << WindowBits
	// Slack is how many bytes behind a list must be readable.
	Slack = 8
)

// Encoding says how a list is held. The numbers are part of the format.
type Encoding uint8

const (
	eliasFano Encoding = 0
	bitmap    Encoding = 1
	runs      Encoding = 2
)

func (e Encoding) String() string {
	switch e {
	case eliasFano:
		return "Elias-Fano"
	case bitmap:
		return "bitmap"
	case runs:
		return "runs"
	}
	return "unknown"
}

// List is a list as it is held: N TIDs from First on. Data is followed by Slack bytes that may be read.
type List struct {
	First    uint32
	N        int
	Encoding Encoding
	Data     []byte
}

// Encode appends what holds ascending TIDs to dst, at most MaxTIDs of them.
func Encode(dst []byte, tids []uint32) ([]byte, Encoding) {
	n, span := len(tids), tids[len(tids)-1]-tids[0]
	low := lowBits(span, n)
	size := 1 + (n*int(low)+7)>>3 + (n+int(span>>low)+1+7)>>3
	enc := eliasFano
	if tids[0]>>WindowBits == tids[n-1]>>WindowBits {
		if b := bitmapBytes(tids[0], tids[n-1]); b <= size {
			size, enc = b, bitmap
		}
		if runsBytes(tids, size) < size {
			enc = runs
		}
	}
	switch enc {
	case bitmap:
		return appendBitmap(dst, tids), enc
	case runs:
		return appendRuns(dst, tids), enc
	}
	return appendEliasFano(dst, tids, low), enc
}

// lowBits is how many low bits of a distance are stored apart: those below the mean distance.
func lowBits(span uint32, n int) uint {
	return uint(max(bits.Len32(span/uint32(n)), 1) - 1)
}

func appendEliasFano(dst []byte, tids []uint32, low uint) []byte {
	dst = append(dst, byte(low))
	n, first := len(tids), tids[0]
	at := len(dst)
	lows := (n*int(low) + 7) >> 3
	high := at + lows
	size := lows + (n+int((tids[n-1]-first)>>low)+1+7)>>3
	dst = append(dst, make([]byte, size+Slack)...)
	bit := uint(0)
	for i, t := range tids {
		d := t - first
		w := dst[at+int(bit>>3):][:8]
		binary.LittleEndian.PutUint64(w, binary.LittleEndian.Uint64(w)|uint64(d&(1<<low-1))<<(bit&7))
		bit += low
		h := uint(d>>low) + uint(i)
		dst[high+int(h>>3)] |= 1 << (h & 7)
	}
	return dst[:at+size]
}

// A bitmap begins at a multiple of 64.
func bitmapBytes(first, last uint32) int { return int(last-first&^63)>>3 + 1 }

func appendBitmap(dst []byte, tids []uint32) []byte {
	at, begin := len(dst), tids[0]&^63
	for range bitmapBytes(tids[0], tids[len(tids)-1]) {
		dst = append(dst, 0)
	}
	for _, t := range tids {
		dst[at+int((t-begin)>>3)] |= 1 << (t & 7)
	}
	return dst
}

// eachRun calls f for the runs: where each begins and how long it is.
func eachRun(tids []uint32, f func(begin uint32, n int)) {
	for i := 0; i < len(tids); {
		j := i + 1
		for j < len(tids) && tids[j] == tids[i]+uint32(j-i) {
			j++
		}
		f(tids[i], j-i)
		i = j
	}
}

// runsBytes returns the size of runs, as far as it is less than most.
func runsBytes(tids []uint32, most int) int {
	size := 0
	next := tids[0]
	for i := 0; i < len(tids) && size < most; {
		j := i + 1
		for j < len(tids) && tids[j] == tids[i]+uint32(j-i) {
			j++
		}
		size += uvarintBytes(tids[i]-next) + uvarintBytes(uint32(j-i-1))
		next = tids[i] + uint32(j-i)
		i = j
	}
	return size
}

func uvarintBytes(x uint32) int { return (max(bits.Len32(x), 1) + 6) / 7 }

func appendRuns(dst []byte, tids []uint32) []byte {
	next := tids[0]
	eachRun(tids, func(begin uint32, n int) {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(begin-next)), uint64(n-1))
		next = begin + uint32(n)
	})
	return dst
}

// Append appends the TIDs to dst, ascending if the list is as Encode made it. ok is false if it holds anything else than N
// of them.
func (l *List) Append(dst []uint32) (tids []uint32, ok bool) {
	switch l.Encoding {
	case eliasFano:
		return l.appendEliasFano(dst)
	case bitmap:
		return l.appendBitmap(dst)
	case runs:
		from := len(dst)
		ok = l.eachRun(func(begin uint32, n int) {
			for i := range n {
				dst = append(dst, begin+uint32(i))
			}
		})
		return dst, ok && len(dst)-from == l.N
	}
	return dst, false
}

func (l *List) appendEliasFano(dst []uint32) ([]uint32, bool) {
	if len(l.Data) == 0 || l.Data[0] > 32 {
		return dst, false
	}
	low := uint(l.Data[0])
	lows := l.Data[1:]
	n := (l.N*int(low) + 7) >> 3
	if len(lows) < n {
		return dst, false
	}
	highs := lows[n:]
	readable := lows[:len(lows)+Slack]
	mask := uint32(1)<<low - 1
	from := len(dst)
	bit := uint(0)
	for w := 0; w < len(highs); w += 8 {
		x := binary.LittleEndian.Uint64(readable[n+w:])
		if left := len(highs) - w; left < 8 {
			x &= 1<<(8*left) - 1
		}
		if len(dst)-from+bits.OnesCount64(x) > l.N {
			return dst, false
		}
		for ; x != 0; x &= x - 1 {
			h := uint32(w<<3+bits.TrailingZeros64(x)) - uint32(len(dst)-from)
			v := uint32(binary.LittleEndian.Uint64(readable[bit>>3:])>>(bit&7)) & mask
			dst = append(dst, l.First+(h<<low|v))
			bit += low
		}
	}
	return dst, len(dst)-from == l.N
}

func (l *List) appendBitmap(dst []uint32) ([]uint32, bool) {
	from, begin := len(dst), l.First&^63
	if len(l.Data) > MaxTIDs/8 {
		return dst, false
	}
	for i, b := range l.Data {
		for x := b; x != 0; x &= x - 1 {
			dst = append(dst, begin+uint32(i<<3+bits.TrailingZeros8(x)))
		}
	}
	return dst, len(dst)-from == l.N
}

// eachRun calls f for the runs, which lie in the list's window; ok is false if they aren't whole, ascending and apart.
func (l *List) eachRun(f func(begin uint32, n int)) (ok bool) {
	next, end := uint64(l.First), uint64(l.First>>WindowBits+1)<<WindowBits
	for p := l.Data; len(p) > 0; {
		gap, k := binary.Uvarint(p)
		if k <= 0 || gap >= MaxTIDs {
			return false
		}
		p = p[k:]
		n, k := binary.Uvarint(p)
		if k <= 0 || n >= MaxTIDs {
			return false
		}
		p = p[k:]
		begin := next + gap
		if next = begin + n + 1; next > end {
			return false
		}
		f(uint32(begin), int(n)+1)
	}
	return true
}

// Window reports whether all TIDs are certain to lie in the window of the first.
func (l *List) Window() bool { return l.Encoding != eliasFano }

// Fill sets the bits of a list's TIDs in the bitset of their segment. Only for lists of one Window.
func (l *List) Fill(b *tid.Bits) (ok bool) {
	if l.Encoding == runs {
		set := 0
		ok := l.eachRun(func(begin uint32, n int) {
			setRange(b, int(begin&(tid.SegmentRows-1)), n)
			set += n
		})
		return ok && set == l.N
	}
	at, set := int(l.First&(tid.SegmentRows-1))>>6, 0
	if len(l.Data) > MaxTIDs/8 || at+(len(l.Data)+7)/8 > tid.Words {
		return false
	}
	readable := l.Data[:len(l.Data)+Slack]
	for w := 0; w < len(l.Data); w += 8 {
		x := binary.LittleEndian.Uint64(readable[w:])
		if left := len(l.Data) - w; left < 8 {
			x &= 1<<(8*left) - 1
		}
		b[at] |= x
		set += bits.OnesCount64(x)
		at++
	}
	return set == l.N
}

// setRange sets n bits from one on.
func setRange(b *tid.Bits, from, n int) {
	for n > 0 {
		k := min(64-from&63, n)
		b[from>>6] |= (1<<k - 1) << (from & 63)
		from, n = from+k, n-k
	}
}

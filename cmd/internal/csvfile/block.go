package csvfile

import "bytes"

// Block is records one behind the other, as a Reader found them. Its zero value is empty. Once filled it may be read by
// any number of goroutines.
type Block struct {
	text    []byte   // the fields' text, each with one byte behind it
	ends    []uint32 // where each field's text ends; quotedBit is set if it was quoted
	records []uint32 // each record's first field
	lines   []int    // on which each record begins, from 1
}

// quotedBit marks quoted fields in ends. maxRecord keeps offsets below it.
const quotedBit = 1 << 31

// NewBlock returns an empty block with room for as much as another holds.
func NewBlock(like *Block) *Block {
	return &Block{
		text:    make([]byte, 0, len(like.text)),
		ends:    make([]uint32, 0, len(like.ends)),
		records: make([]uint32, 0, len(like.records)),
		lines:   make([]int, 0, len(like.lines)),
	}
}

// Len returns the number of records.
func (b *Block) Len() int { return len(b.records) }

// Bytes returns about how much text the block holds.
func (b *Block) Bytes() int { return len(b.text) }

// Fields returns how many fields a record has, at least one.
func (b *Block) Fields(record int) int {
	end := len(b.ends)
	if record+1 < len(b.records) {
		end = int(b.records[record+1])
	}
	return end - int(b.records[record])
}

// Field returns a field's text, which must not be changed, and whether it was quoted.
func (b *Block) Field(record, field int) (text []byte, quoted bool) {
	i := int(b.records[record]) + field
	start := uint32(0)
	if i > 0 {
		start = b.ends[i-1]&^quotedBit + 1
	}
	end := b.ends[i] &^ quotedBit
	return b.text[start:end:end], b.ends[i]&quotedBit != 0
}

// Line returns the line on which a field begins, from 1.
func (b *Block) Line(record, field int) int {
	line := b.lines[record]
	for i := range field {
		text, quoted := b.Field(record, i)
		if quoted { // the others have no line breaks
			line += bytes.Count(text, []byte("\n"))
		}
	}
	return line
}

// begin begins a record.
func (b *Block) begin(line int) {
	b.records = append(b.records, uint32(len(b.ends)))
	b.lines = append(b.lines, line)
}

// undo takes the record away that was begun last.
func (b *Block) undo() {
	last := len(b.records) - 1
	b.ends = b.ends[:b.records[last]]
	b.text = b.text[:b.start()]
	b.records, b.lines = b.records[:last], b.lines[:last]
}

// start returns where the next field's text begins.
func (b *Block) start() int {
	if n := len(b.ends); n > 0 {
		return int(b.ends[n-1]&^quotedBit) + 1
	}
	return 0
}

// end ends a field, whose text is all that was appended since the last one's.
func (b *Block) end(quoted bool) {
	end := uint32(len(b.text))
	if quoted {
		end |= quotedBit
	}
	b.ends = append(b.ends, end)
	b.text = append(b.text, 0)
}

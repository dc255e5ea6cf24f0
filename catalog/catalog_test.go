package catalog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"wideleaf/value"
)

// A table that columns come to and go from, one change a segment, against a list of what was there at each segment.
func TestStoredFollowsHistory(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	types := []value.Type{value.Int4, value.Text, value.Int8}
	for range 50 {
		tb := &Table{ID: 1}
		var history []string // by segment
		last := 0
		for segment := uint64(0); segment < 12; segment++ {
			if len(tb.Columns) > 0 && rnd.IntN(2) == 0 {
				i := rnd.IntN(len(tb.Columns))
				c := tb.Columns[i]
				tb.Columns = append(tb.Columns[:i:i], tb.Columns[i+1:]...)
				at := 0
				for at < len(tb.Dropped) && tb.Dropped[at].Attno < c.Attno {
					at++
				}
				rest := append([]Dropped{{c.Attno, c.Type, c.First, segment}}, tb.Dropped[at:]...)
				tb.Dropped = append(tb.Dropped[:at:at], rest...)
			} else {
				last++
				tb.Columns = append(tb.Columns, Column{Attno: last, Name: fmt.Sprint("c", last), Type: types[last%3], First: segment})
			}
			now := ""
			for _, c := range tb.Columns {
				now += fmt.Sprintf("%d %v,", c.Attno, c.Type)
			}
			history = append(history, now)
			if tb.LastAttno() != last {
				t.Fatalf("last attno %d, want %d", tb.LastAttno(), last)
			}
			if tb.Newest() != segment {
				t.Fatalf("newest layout from segment %d, want %d", tb.Newest(), segment)
			}
		}
		for segment, want := range history {
			got := ""
			for _, c := range tb.Stored(uint64(segment)) {
				got += fmt.Sprintf("%d %v,", c.Attno, c.Type)
			}
			if got != want {
				t.Fatalf("segment %d is stored with %s, want %s", segment, got, want)
			}
		}
		there := map[int]bool{}
		for i, c := range tb.Columns {
			there[c.Attno] = true
			if tb.Column(c.Attno) != i || tb.Named(c.Name) != i {
				t.Fatalf("column %d is found at %d and %d, want %d", c.Attno, tb.Column(c.Attno), tb.Named(c.Name), i)
			}
		}
		for attno := -1; attno <= last+1; attno++ {
			want := value.Unknown
			if attno >= 1 && attno <= last {
				want = types[attno%3]
			}
			if got := tb.TypeOf(attno); got != want {
				t.Fatalf("column %d has type %v, want %v", attno, got, want)
			}
			if !there[attno] && tb.Column(attno) != -1 {
				t.Fatalf("column %d is found, but is not there", attno)
			}
		}
	}
}

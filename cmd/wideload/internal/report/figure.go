// Package report prints what was measured: figures as JSON lines for programs, sizes and rates for people, and a progress
// line while somebody watches.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Figure is one measured number. Suites, names and units are those of the project's PostgreSQL baseline, so that the
// figures of both stand side by side: insert/btree in rows/s, query/case1-btree in ms, sizes in B.
type Figure struct {
	Suite, Name string
	Value       float64
	Unit        string
}

// places is how many decimals of a unit mean anything; the others have one.
var places = map[string]int{"ms": 4, "s": 3, "B": 0}

// MarshalJSON writes the value without an exponent.
func (f Figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
		return nil, fmt.Errorf("figure %s/%s is %v", f.Suite, f.Name, f.Value)
	}
	decimals, known := places[f.Unit]
	if !known {
		decimals = 1
	}
	return json.Marshal(struct {
		Suite string      `json:"suite"`
		Name  string      `json:"name"`
		Value json.Number `json:"value"`
		Unit  string      `json:"unit"`
	}{f.Suite, f.Name, json.Number(strconv.FormatFloat(f.Value, 'f', decimals, 64)), f.Unit})
}

// WriteFigures writes figures, one JSON object a line.
func WriteFigures(w io.Writer, figures []Figure) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, f := range figures {
		if err := e.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

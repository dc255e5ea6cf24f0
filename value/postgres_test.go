package value

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"wideleaf/pgerr"
)

// TestParseAsPostgreSQL compares Parse and String with what PostgreSQL 15 answered (time zone UTC, DateStyle ISO, MDY).
func TestParseAsPostgreSQL(t *testing.T) {
	f, err := os.Open("testdata/postgres.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c struct{ Type, In, Out, Code, Message, Detail string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		typ, ok := ParseType(c.Type)
		if !ok {
			t.Fatalf("no type %s", c.Type)
		}
		v, err := Parse(typ, c.In)
		var e *pgerr.Error
		switch {
		case err == nil && c.Code != "":
			t.Errorf("%s %q: %q, want %s: %s", c.Type, c.In, v, c.Code, c.Message)
		case err == nil:
			out := v.String()
			if typ == Bool { // as a cast to text prints it
				out = map[string]string{"t": "true", "f": "false"}[out]
			}
			if out != c.Out || v.Type() != typ || v.IsNull() {
				t.Errorf("%s %q: %q, want %q", c.Type, c.In, out, c.Out)
			}
			one := &Vector{Type: typ}
			one.Append(v)
			if _, err := one.Check(); err != nil {
				t.Errorf("%s %q: %v", c.Type, c.In, err)
			}
		case !errors.As(err, &e):
			t.Errorf("%s %q: %v", c.Type, c.In, err)
		case e.Code == pgerr.FeatureNotSupported:
			if !strings.Contains(c.In+c.Message, "{{") && !strings.Contains(c.In, ",{") && c.In[0] != '[' {
				t.Errorf("%s %q: %v", c.Type, c.In, err)
			}
		case e.Code != c.Code || e.Message != c.Message || e.Detail != c.Detail:
			t.Errorf("%s %q: %s: %s|%s, want %s: %s|%s (%q)", c.Type, c.In, e.Code, e.Message, e.Detail, c.Code, c.Message, c.Detail, c.Out)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

package wideleaf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Everything at a time: clients insert, update and delete rows of their own, which they keep count of; others take snapshots,
// vacuum, flush, hold what is stored, and create, rename and drop indexes and columns. Nobody sees anything wrong meanwhile, and
// closing and opening again loses nothing.
func TestEverythingAtATime(t *testing.T) {
	const clients, rounds = 4, 3
	dir := t.TempDir()
	var models [clients]map[int]int // n to v
	next := [clients]int{}
	for c := range models {
		models[c] = map[int]int{}
	}
	for round := range rounds {
		db := mustOpen(t, dir, &Options{Logger: quiet, MergeFanIn: 2, AutovacuumVacuumThreshold: 1, MemoryLimit: minMemoryLimit})
		tb, err := db.Table("t")
		if errors.Is(err, ErrNotFound) {
			if tb, err = db.CreateTable(t.Context(), "t", Column{Name: "client", Type: Int4}, Column{Name: "n", Type: Int4}, Column{Name: "v", Type: Int4}); err != nil {
				t.Fatal(err)
			}
			err = db.CreateIndexes(t.Context(), "t",
				IndexDef{Name: "key", Unique: true, Columns: []IndexColumn{{Name: "client"}, {Name: "n"}}},
				IndexDef{Name: "by_v", Method: "gin", Columns: []IndexColumn{{Name: "v"}, {Name: "client"}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		for c := range clients {
			checkModel(t, tb.Query(), c, models[c])
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(c)))
				for ctx.Err() == nil {
					if err := changeModel(t.Context(), tb, c, models[c], &next[c], rnd); err != nil {
						t.Errorf("client %d: %v", c, err)
						return
					}
				}
			})
		}
		forever := func(name string, f func(i int) error) {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if err := f(i); err != nil && ctx.Err() == nil {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			})
		}
		forever("vacuum", func(i int) error {
			_, err := tb.Vacuum(ctx, VacuumOptions{Full: i%2 == 0})
			return err
		})
		forever("flush", func(int) error { time.Sleep(3 * time.Millisecond); return tb.Flush(ctx) })
		forever("snapshot", func(int) error {
			s, err := db.Snapshot()
			if err != nil {
				return err
			}
			defer s.Release()
			var before string
			for range 3 {
				v, err := s.Query(tb).Aggregate(ctx, "count(*)", "sum(v)", "sum(n)", "count(distinct client)")
				if err != nil {
					return err
				}
				if now := fmt.Sprint(v); before != "" && now != before {
					return fmt.Errorf("a snapshot had %s and has %s", before, now)
				} else {
					before = now
				}
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		})
		forever("stored", func(int) error {
			s, err := db.Stored("key")
			if err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
			s.Close()
			return nil
		})
		forever("definitions", func(i int) error {
			name, col := fmt.Sprint("i", i%3), fmt.Sprint("c", i)
			err := errors.Join(
				tb.CreateIndexes(ctx, IndexDef{Name: name, Method: []string{"btree", "gin", "rum"}[i%3], Columns: []IndexColumn{{Name: "v"}}}),
				db.RenameIndex(ctx, name, "renamed"),
				db.DropIndex(ctx, "renamed"),
				tb.AddColumns(ctx, Column{Name: col, Type: Text, Default: "x"}),
				tb.DropColumns(ctx, col))
			if ctx.Err() != nil { // it ended somewhere in between: what is left over goes
				for _, ix := range tb.Indexes() {
					if ix.Name != "key" && ix.Name != "by_v" {
						if err := db.DropIndex(t.Context(), ix.Name); err != nil {
							t.Error(err)
						}
					}
				}
				for _, c := range tb.Columns()[3:] {
					if err := tb.DropColumns(t.Context(), c.Name); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			return err
		})
		time.Sleep(1500 * time.Millisecond)
		stop()
		wg.Wait()
		for c := range clients {
			checkModel(t, tb.Query(), c, models[c])
		}
		if err := errors.Join(db.Check(t.Context()), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("steps by client: %v", next)
}

// changeModel inserts, updates or deletes rows of a client, and does the same to its model.
func changeModel(ctx context.Context, tb *Table, client int, model map[int]int, next *int, rnd *rand.Rand) error {
	switch rnd.IntN(4) {
	case 0, 1:
		b := tb.NewBatch("client", "n", "v")
		for range 1 + rnd.IntN(30) {
			if err := b.Append(client, *next, *next%100); err != nil {
				return err
			}
			model[*next] = *next % 100
			*next++
		}
		return tb.InsertBatch(ctx, b, NoSync)
	case 2:
		k := rnd.IntN(100)
		n, err := tb.UpdateWhere(ctx, fmt.Sprintf("client = %d and v = %d", client, k), "v = v + 7", NoSync)
		if err != nil {
			return err
		}
		for key, v := range model {
			if v == k {
				model[key] = v + 7
				n--
			}
		}
		if n != 0 {
			return fmt.Errorf("%d rows too many were updated", n)
		}
	default:
		k := rnd.IntN(110)
		n, err := tb.DeleteWhere(ctx, fmt.Sprintf("client = %d and v = %d", client, k), NoSync)
		if err != nil {
			return err
		}
		for key, v := range model {
			if v == k {
				delete(model, key)
				n--
			}
		}
		if n != 0 {
			return fmt.Errorf("%d rows too many were deleted", n)
		}
	}
	return nil
}

// checkModel compares a client's rows with its model.
func checkModel(t *testing.T, q *Query, client int, model map[int]int) {
	t.Helper()
	rows, err := collect(q.Where(fmt.Sprintf("client = %d", client)).Select("n", "v"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(model) {
		t.Errorf("client %d has %d rows, want %d", client, len(rows), len(model))
	}
	for _, row := range rows {
		if v, ok := model[int(row[0].Int())]; !ok || v != int(row[1].Int()) {
			t.Errorf("client %d has the row %v, want %d (%v)", client, row, v, ok)
		}
	}
}

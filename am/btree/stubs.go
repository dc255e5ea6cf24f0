package btree

import (
	"context"
	"errors"
	"iter"

	"wideleaf/am"
	"wideleaf/catalog"
	"wideleaf/page"
	"wideleaf/tid"
	"wideleaf/value"
)

var errStub = errors.New("stub")

type bytesRun struct{ tree }

func (r *bytesRun) Bitmap(ctx context.Context, c am.Conditions, b *tid.Builder) (bool, error) {
	return false, errStub
}
func (r *bytesRun) Estimate(c am.Conditions) (am.Estimate, error)       { return am.Estimate{}, errStub }
func (r *bytesRun) Count(c am.Conditions) (n int64, ok bool, err error) { return 0, false, errStub }
func (r *bytesRun) Check(ctx context.Context) error                     { return errStub }
func (r *fixedRun) Check(ctx context.Context) error                     { return errStub }
func (r *bytesRun) Cursor(ctx context.Context, c am.Conditions, backward bool) iter.Seq2[am.Entry, error] {
	return nil
}
func (r *fixedRun) Cursor(ctx context.Context, c am.Conditions, backward bool) iter.Seq2[am.Entry, error] {
	return nil
}
func (method) EncodeKey(ix *catalog.Index, vals []value.Value, dst []byte) []byte { return nil }
func buildBytes(ix *catalog.Index, o page.Owner, src am.Source, w page.Writer, yield func() error) (am.RunMeta, error) {
	return am.RunMeta{}, errStub
}
func mergeBytes(ix *catalog.Index, o page.Owner, runs []am.Run, span am.Span, dead func(tid.TID) bool, w page.Writer, yield func() error) (am.RunMeta, error) {
	return am.RunMeta{}, errStub
}

package report

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is a line on a terminal: rows, rows/s, elapsed time, time to go. A nil Progress, which is what there is when
// nobody watches, does nothing. Its methods may be called concurrently.
type Progress struct {
	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	title string
	start time.Time
	next  time.Time
	named bool // the title is all that is shown
}

// redraw is how often the line changes.
const redraw = 100 * time.Millisecond

// NewProgress begins a line on w if that is a terminal.
func NewProgress(w io.Writer, title string) *Progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return newProgress(f, title)
}

// steps is what a bar counts to: whatever is measured is shown as a share of it.
const steps = 10_000

func newProgress(w io.Writer, title string) *Progress {
	return &Progress{
		title: title,
		start: time.Now(),
		bar: progressbar.NewOptions64(steps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionSetDescription(title),
			progressbar.OptionClearOnFinish(),
		),
	}
}

// Show draws the share of the work that is done and the rows so far.
func (p *Progress) Show(share float64, rows int64) { p.show(share, rows, "") }

// ShowBytes draws how many bytes of all are read and the rows so far.
func (p *Progress) ShowBytes(done, total, rows int64) {
	if p != nil {
		p.show(float64(done)/float64(max(total, 1)), rows, fmt.Sprintf(" %s of %s,", Bytes(done), Bytes(total)))
	}
}

func (p *Progress) show(share float64, rows int64, detail string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.next) || p.named {
		return
	}
	p.next = now.Add(redraw)
	rate := float64(rows) / max(now.Sub(p.start).Seconds(), 1e-9)
	p.bar.Describe(fmt.Sprintf("%s%s %s rows, %s rows/s", p.title, detail, Count(rows), Count(rate)))
	_ = p.bar.Set64(min(int64(share*steps), steps-1)) // a terminal that can't be written to shows nothing
}

// Rename begins another part of the work, which has its own rate.
func (p *Progress) Rename(title string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if title != p.title {
		p.title, p.start = title, time.Now()
	}
}

// Name shows only a title from now on, for work at the end whose extent isn't known.
func (p *Progress) Name(title string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named = true
	p.bar.Describe(title)
}

// Done takes the line away.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Finish()
}

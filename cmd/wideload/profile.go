package main

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// profileFlags are the flags for go tool pprof.
type profileFlags struct{ cpu, heap string }

func (p *profileFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.cpu, "cpu-profile", "", "write a CPU profile of the work to `file`, for go tool pprof")
	cmd.Flags().StringVar(&p.heap, "heap-profile", "", "write what is in memory when the work is done to `file`, for go tool pprof")
}

// during calls f and writes the profiles asked for.
func (p *profileFlags) during(f func() error) (err error) {
	if p.cpu != "" {
		file, created := os.Create(p.cpu)
		if created != nil {
			return created
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if err := f(); err != nil || p.heap == "" {
		return err
	}
	runtime.GC() // the profile is as of the last collection
	return toFile(p.heap, func(w io.Writer) error { return pprof.Lookup("heap").WriteTo(w, 0) })
}

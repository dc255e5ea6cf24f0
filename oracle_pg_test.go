package wideleaf

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// postgres is a PostgreSQL server of its own, asked through one psql: a driver would be a dependency of every program
// that uses the module, and PostgreSQL's own text forms are just what is to be compared.
type postgres struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// startPostgres starts a server with an empty cluster in a temporary folder, on a Unix socket, in the C locale. The test
// is skipped where PostgreSQL isn't installed.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(bins) == 0 {
		t.Skip("there is no PostgreSQL server in /usr/lib/postgresql to compare with")
	}
	slices.SortFunc(bins, func(a, b string) int { return version15(a) - version15(b) })
	bin := filepath.Dir(bins[len(bins)-1])
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := func(name string, args ...string) *exec.Cmd { return exec.Command(filepath.Join(bin, name), args...) }
	if os.Geteuid() == 0 { // the server refuses to run as root
		if _, err := user.Lookup("postgres"); err != nil {
			t.Skip("PostgreSQL doesn't run as root, and there is no user postgres: ", err)
		}
		as = func(name string, args ...string) *exec.Cmd {
			return exec.Command("runuser", append([]string{"-u", "postgres", "--", filepath.Join(bin, name)}, args...)...)
		}
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Fatalf("chown: %v: %s", err, out)
		}
	}
	run := func(cmd *exec.Cmd) error {
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
		}
		return nil
	}
	data := filepath.Join(dir, "data")
	if err := run(as("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")); err != nil {
		t.Fatal(err)
	}
	options := "-c listen_addresses='' -c unix_socket_directories=" + dir +
		" -c fsync=off -c synchronous_commit=off -c timezone=UTC -c max_connections=5 -c shared_buffers=32MB"
	if err := run(as("pg_ctl", "-D", data, "-w", "-l", filepath.Join(data, "server.log"), "-o", options, "start")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run(as("pg_ctl", "-D", data, "-m", "immediate", "stop")); err != nil {
			t.Error(err)
		}
	})
	psql := exec.Command(filepath.Join(bin, "psql"), "-XqAt", "-h", dir, "-U", "postgres", "-v", "VERBOSITY=terse",
		"-F", fieldEnd, "-R", rowEnd, "-P", "null="+isNull, "postgres")
	psql.Env = append(os.Environ(), "PGCLIENTENCODING=UTF8")
	in, err := psql.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := psql.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := psql.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = psql.Wait()
	})
	return &postgres{in, bufio.NewReaderSize(out, 1<<16)}
}

// version15 returns the number in /usr/lib/postgresql/15/bin/initdb.
func version15(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// answer is what a statement gave: rows of texts, nil for NULL, or an error.
type answer struct {
	rows    [][]*string
	code    string // SQLSTATE; empty if it worked
	message string
}

const (
	endOfRows   = "end of the rows"
	endOfAnswer = "end of the answer"
)

// ask runs statements; a query's rows are returned, other statements have none.
func (pg *postgres) ask(statements ...string) ([]answer, error) {
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(pg.in)
		for _, s := range statements {
			if columns, ok := strings.CutPrefix(s, "select "); ok { // one more, so that no row is an empty line
				s = "select 1, " + columns
			}
			fmt.Fprintf(w, "%s\n;\n\\echo '%s' :SQLSTATE\n\\echo :LAST_ERROR_MESSAGE\n\\echo '%s'\n", s, endOfRows, endOfAnswer)
		}
		sent <- w.Flush()
	}()
	line := func() (string, error) {
		s, err := pg.out.ReadString('\n')
		if err != nil {
			err = fmt.Errorf("psql ended: %w", err)
		}
		return strings.TrimSuffix(s, "\n"), err
	}
	answers := make([]answer, len(statements))
	for i := range answers {
		a := &answers[i]
		text := ""
		for {
			s, err := line()
			if err != nil {
				return nil, err
			}
			if code, ok := strings.CutPrefix(s, endOfRows+" "); ok {
				a.code = code
				break
			}
			text += s + "\n"
		}
		for row := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), rowEnd) {
			if _, row, ok := strings.Cut(row, fieldEnd); ok {
				a.rows = append(a.rows, fields(row))
			}
		}
		for {
			s, err := line()
			if err != nil {
				return nil, err
			}
			if s == endOfAnswer {
				break
			}
			a.message += s
		}
		if a.code == "00000" {
			a.code, a.message = "", ""
		}
	}
	return answers, <-sent
}

// What psql puts between fields and rows, and prints for NULL.
const (
	fieldEnd = "\x01"
	rowEnd   = "\x02"
	isNull   = "\x03"
)

func fields(row string) (out []*string) {
	for s := range strings.SplitSeq(row, fieldEnd) {
		if s == isNull {
			out = append(out, nil)
		} else {
			out = append(out, &s)
		}
	}
	return out
}

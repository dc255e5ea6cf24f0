package store

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The file ACCOUNT stands beside Pebble's files and says what they must hold at least (docs/format.md). It is there
// from the end of the creation on. While the database is written it names the account as of the first write since
// Open; a clean Close replaces it by one with the final account and the caller's data.
const (
	accountFile     = "ACCOUNT"
	accountFileTemp = "ACCOUNT.tmp"
)

const (
	accountMagic      = "wideleaf"
	accountFileHeader = 8 + 8 + accountSize + 4
	stateOpen         = 1 // written since; the account is a lower bound
	stateClosed       = 2 // closed cleanly with exactly this account
)

// closing is the content of the file ACCOUNT.
type closing struct {
	state   byte
	account account
	data    []byte // the caller's, of a clean close
}

func (c closing) encode() []byte {
	b := append(make([]byte, 0, accountFileHeader+len(c.data)+checksumSize), accountMagic...)
	b = append(b, c.state, 0, 0, 0, 0, 0, 0, 0)
	b = c.account.append(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.data)))
	b = append(b, c.data...)
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b))
}

func decodeClosing(b []byte) (c closing, err error) {
	if len(b) < accountFileHeader+checksumSize || string(b[:8]) != accountMagic {
		return c, corrupt(accountFile, "it is not such a file")
	}
	body := b[:len(b)-checksumSize]
	if sum := xxhash.Sum64(body); sum != binary.LittleEndian.Uint64(b[len(body):]) {
		return c, corrupt(accountFile, "its checksum is wrong")
	}
	c.state = body[8]
	if c.account, err = decodeAccount(body[16 : 16+accountSize]); errors.Is(err, ErrNewer) {
		return c, err
	} else if err != nil {
		return c, corrupt(accountFile, "%s", err)
	}
	c.data = body[accountFileHeader:]
	n := binary.LittleEndian.Uint32(body[accountFileHeader-4:])
	if c.state != stateOpen && c.state != stateClosed || uint64(n) != uint64(len(c.data)) {
		return c, corrupt(accountFile, "its state is %d, with %d bytes of %d", c.state, len(c.data), n)
	}
	return c, nil
}

// readClosing reads the file; exists is false when there is none.
func readClosing(fsys vfs.FS, dir string) (c closing, exists bool, err error) {
	f, err := fsys.Open(fsys.PathJoin(dir, accountFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return c, true, err
	}
	c, err = decodeClosing(b)
	return c, true, err
}

// writeClosing replaces the file: at any moment of a crash there is the old or the new one.
func writeClosing(fsys *freezeFS, dir string, c closing) error {
	if len(c.data) > math.MaxInt32 {
		return errors.New("the data of the close are too long")
	}
	temp := fsys.PathJoin(dir, accountFileTemp)
	f, err := fsys.Create(temp, "wideleaf-account")
	if err != nil {
		return err
	}
	_, _ = f.Write(c.encode()) // this file's errors are those that freeze
	_ = f.Sync()
	_ = f.Close()
	_ = fsys.Rename(temp, fsys.PathJoin(dir, accountFile))
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	_ = d.Close()
	return fsys.err()
}

// compare returns what is wrong with the account a found in the store, given what the file says.
func (c closing) compare(a account) error {
	if a.sequence < c.account.sequence || a.ordinals < c.account.ordinals {
		return corrupt("MANIFEST or write-ahead log", "publication %d is the last one found, but %s names %d",
			a.sequence, accountFile, c.account.sequence)
	}
	if c.state == stateClosed && a != c.account {
		return corrupt(accountFile, "it names publication %d as the last, but %d is there", c.account.sequence, a.sequence)
	}
	return nil
}

package tuplesort

// loserTree merges sorted inputs: it finds the input with the least current entry in one comparison a level (Knuth, The
// Art of Computer Programming, volume 3, 5.4.1). Inputs are numbered; less(i, j) compares their current entries and treats
// an input that has ended as greater than all others.
type loserTree struct {
	less func(i, j int) bool
	tree []int // tree[0] is the winner; tree[n] the loser of the match at inner node n
	n    int
}

// newLoserTree plays all matches between n inputs, at least one.
func newLoserTree(n int, less func(i, j int) bool) *loserTree {
	t := &loserTree{less: less, tree: make([]int, n), n: n}
	// Leaf i is node n+i. Winners go up from the leaves.
	winners := make([]int, 2*n)
	for i := range n {
		winners[n+i] = i
	}
	for node := n - 1; node > 0; node-- {
		a, b := winners[2*node], winners[2*node+1]
		if less(b, a) {
			a, b = b, a
		}
		winners[node], t.tree[node] = a, b
	}
	t.tree[0] = winners[1]
	return t
}

// winner is the input with the least current entry.
func (t *loserTree) winner() int { return t.tree[0] }

// fix plays the winner's matches again, after it has gone on to its next entry.
func (t *loserTree) fix() {
	w := t.tree[0]
	for node := (t.n + w) / 2; node > 0; node /= 2 {
		if t.less(t.tree[node], w) {
			w, t.tree[node] = t.tree[node], w
		}
	}
	t.tree[0] = w
}

package pageinspect

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wideleaf"
	"wideleaf/page"
	"wideleaf/pgerr"
	"wideleaf/value"
)

// function is one of an image (page), or of a relation and numbers (relation, byType), or of either.
type function struct {
	columns  string
	zero     bool // page takes nil, for an image that is all zero; else that gives a row of NULLs
	page     func(context.Context, *Inspector, *image) ([]wideleaf.Row, error)
	relation func(context.Context, *Inspector, string, []int64) ([]wideleaf.Row, error)
	byType   []string // the functions that it is, by the last number
	numbers  int      // that follow the relation
	block    bool     // a number follows the image
}

const (
	treeColumns    = "attrnum category attached first_block root levels entries nulls"
	metaColumns    = "pending_head pending_tail tail_free_size n_pending_pages n_pending_tuples n_total_pages n_entry_pages n_data_pages n_entries version"
	btStatsColumns = "blkno type live_items dead_items avg_item_size page_size free_size btpo_prev btpo_next btpo_level btpo_flags"
)

var functions = map[string]function{
	"page_header":       {columns: "lsn checksum flags lower upper special pagesize version prune_xid", page: pageHeader, zero: true},
	"page_checksum":     {columns: "page_checksum", page: pageChecksum, block: true},
	"page_identity":     {columns: "kind flags reserved relation name part block length checksum checksum_ok", page: pageIdentity},
	"page_items":        {columns: "item item_offset size meaning", page: pageItems},
	"heap_page_items":   {columns: "lp lp_off lp_flags lp_len t_xmin t_xmax t_field3 t_ctid t_infomask2 t_infomask t_hoff t_bits t_oid t_data", page: heapPageItems},
	"heap_column_items": {columns: "item attnum type encoding item_offset size first_tid rows nulls lower_bound upper_bound", page: heapColumnItems},
	"bt_metap": {columns: "magic version root level fastroot fastlevel last_cleanup_num_delpages last_cleanup_num_tuples allequalimage",
		relation: btMetapOf},
	"bt_page_stats":                {columns: btStatsColumns, relation: btPageStats, numbers: 1},
	"bt_multi_page_stats":          {columns: btStatsColumns, relation: btMultiPageStats, numbers: 2},
	"bt_page_items":                {columns: "itemoffset ctid itemlen nulls vars data dead htid tids", page: btPageItems, relation: btPageItemsOf, numbers: 1},
	"gin_metapage_info":            {columns: metaColumns, page: ginMetapageInfo},
	"gin_page_opaque_info":         {columns: "rightlink maxoff flags", page: ginPageOpaqueInfo},
	"gin_leafpage_items":           {columns: "first_tid nbytes tids", page: ginLeafpageItems},
	"gin_entry_leaf_items":         {columns: "itemoffset attrnum category key first_tid is_posting_list ntids nbytes", page: ginEntryLeafItems},
	"gin_entry_internal_items":     {columns: "itemoffset attrnum category key down_link entries", page: ginEntryInternalItems},
	"gin_posting_items":            {columns: "itemoffset attrnum category key tuple_id", page: ginPostingItems},
	"gin_columns_items":            {columns: treeColumns, page: columnsItems("GIN", page.KindGinColumns)},
	"rum_columns_items":            {columns: treeColumns, page: columnsItems("RUM", page.KindRumColumns)},
	"rum_metapage_info":            rum(metaColumns, rumMetapageInfo),
	"rum_page_opaque_info":         rum("leftlink rightlink maxoff freespace flags", rumPageOpaqueInfo),
	"rum_leaf_data_page_items":     rum("is_high_key tuple_id add_info_is_null add_info", rumLeafDataItems),
	"rum_internal_data_page_items": rum("is_high_key block_number tuple_id add_info_is_null add_info", rumInternalDataItems),
	"rum_leaf_entry_page_items": rum("key attrnum category tuple_id add_info_is_null add_info is_postring_tree postring_tree_root",
		rumLeafEntryItems), // so spelt
	"rum_internal_entry_page_items": rum("key attrnum category down_link", rumInternalEntryItems),
	"rum_page_items_info":           {byType: rumPageItems, numbers: 2},
	"pending_items":                 {columns: "itemoffset tuple_id attrnum key is_cut", page: pendingItems},
	"pending_list_info":             {columns: "pending_head pending_tail tail_free_size n_pending_pages n_pending_tuples", page: pendingListInfo},
}

// Functions returns the names of all functions but get_raw_page.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

func btMetapOf(ctx context.Context, in *Inspector, rel string, _ []int64) ([]wideleaf.Row, error) {
	v, err := in.btree(ctx, rel)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	m, err := open(v.metapage())
	if err != nil {
		return nil, err
	}
	return btMetap(ctx, in, m)
}

// Page calls a function of a page image. Errors: 42883 for an unknown function; 22023 with PostgreSQL's message for an image
// that isn't of a page that the function is about; XX001 for one that is damaged. An image that is all zero gives a row of NULLs.
func (in *Inspector) Page(ctx context.Context, name string, img []byte) (Result, error) {
	f, ok := functions[name]
	if !ok || f.page == nil {
		return Result{}, undefined(name)
	}
	res := Result{Columns: strings.Fields(f.columns)}
	if name == "heap_page_items" && len(img) < 24 {
		return res, invalid("input page too small (%d bytes)", len(img))
	}
	m, err := open(img)
	switch {
	case err != nil:
		return res, err
	case m == nil && !f.zero:
		res.Rows = []wideleaf.Row{make(wideleaf.Row, len(res.Columns))}
		return res, nil
	}
	res.Rows, err = f.page(ctx, in, m)
	return res, err
}

// Call calls a function as the command does: of a relation and numbers, the first of which is a block.
func (in *Inspector) Call(ctx context.Context, name, relation string, numbers ...int64) (Result, error) {
	f, ok := functions[name]
	if f.byType != nil && len(numbers) == f.numbers {
		i := len(numbers) - 1
		if t := numbers[i]; t < 0 || t >= int64(len(f.byType)) {
			return Result{}, invalid("page type %d is not from 0 to %d", t, len(f.byType)-1)
		}
		return in.Call(ctx, f.byType[numbers[i]], relation, numbers[:i]...)
	}
	if ok && f.relation != nil && len(numbers) == f.numbers {
		res := Result{Columns: strings.Fields(f.columns)}
		var err error
		res.Rows, err = f.relation(ctx, in, relation, numbers)
		return res, err
	}
	if name != "get_raw_page" && (!ok || f.page == nil) || len(numbers) > 1 {
		return Result{}, undefined(name)
	}
	img, err := in.GetRawPage(ctx, relation, append(numbers, 0)[0])
	if err != nil {
		return Result{}, err
	}
	if name == "get_raw_page" {
		return rawPage(img), nil
	}
	return in.Page(ctx, name, img)
}

func rawPage(img []byte) Result {
	return Result{Columns: []string{"get_raw_page"}, Rows: []wideleaf.Row{{value.OfBytea(img)}}}
}

func undefined(name string) error {
	return &wideleaf.Error{Kind: wideleaf.ErrNotFound, Code: pgerr.UndefinedFunction, Object: name,
		Message: fmt.Sprintf("function %s with these arguments does not exist", name),
		Hint:    "Functions: get_raw_page, " + strings.Join(Functions(), ", ") + "."}
}

var (
	ofRelation = regexp.MustCompile(`^(\w+)\s*\(\s*'((?:[^']|'')*)'\s*((?:,\s*-?\d+\s*)*)\)$`)
	ofPage     = regexp.MustCompile(`^(\w+)\s*\(\s*(get_raw_page\s*\(.*?\))\s*((?:,\s*-?\d+\s*)?)\)$`)
	selectFrom = regexp.MustCompile(`(?is)^select\s+(?:\*\s+from\s+)?`)
)

// Query calls functions in SQL's spelling: gin_metapage_info(get_raw_page('idx', 0)), bt_page_stats('idx', 1). Errors: 42601 for
// anything else.
func (in *Inspector) Query(ctx context.Context, sql string) (Result, error) {
	s := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(sql), ";"))
	s = selectFrom.ReplaceAllString(s, "")
	if m := ofPage.FindStringSubmatch(s); m != nil {
		if f, ok := functions[m[1]]; !ok || f.page == nil || f.block != (m[3] != "") {
			return Result{}, undefined(m[1])
		}
		raw, err := in.Query(ctx, m[2])
		if err != nil {
			return Result{}, err
		}
		return in.Page(ctx, m[1], []byte(raw.Rows[0][0].Str()))
	}
	m := ofRelation.FindStringSubmatch(s)
	if m == nil {
		return Result{}, &wideleaf.Error{Kind: wideleaf.ErrInvalid, Code: pgerr.SyntaxError, Message: fmt.Sprintf("syntax error in %q", sql),
			Hint: "A call is, for example, gin_metapage_info(get_raw_page('idx', 0)) or bt_page_stats('idx', 1)."}
	}
	var numbers []int64
	for _, n := range strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' }) {
		x, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			return Result{}, invalid("invalid block number")
		}
		numbers = append(numbers, x)
	}
	f := functions[m[1]]
	if m[1] != "get_raw_page" && (f.relation == nil && f.byType == nil || f.numbers != len(numbers)) || m[1] == "get_raw_page" && len(numbers) != 1 {
		return Result{}, undefined(m[1])
	}
	return in.Call(ctx, m[1], strings.ReplaceAll(m[2], "''", "'"), numbers...)
}

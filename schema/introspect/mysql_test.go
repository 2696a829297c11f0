package introspect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"resq/schema/introspect"
)

const oddMySQL = "SET NAMES utf8mb4; SET sql_mode = '';" + `
CREATE TABLE ` + "`odd ``t`` 表`" + ` (` + "`编号`" + ` INT UNSIGNED AUTO_INCREMENT PRIMARY KEY COMMENT '编号：自增', ` + "`a.b`" + ` INT NOT NULL, ` + "`qu\"o``te`" + ` INT,
  e ENUM('a', 'b,c', 'd''e', '', 'x\\y', 'l\nm') NOT NULL DEFAULT 'd''e' COMMENT 'how it went (a = well, b = badly)', j JSON NOT NULL,
  checked LONGTEXT CHECK (LENGTH(checked) > 2 AND JSON_VALID(checked)), either LONGTEXT CHECK (LENGTH(either) > 2 OR JSON_VALID(either)),
  d DECIMAL(10, 2) UNSIGNED DEFAULT 1.50, z DECIMAL(5), f FLOAT(7, 4), s SET('x', 'y') NOT NULL DEFAULT 'x,y', flag TINYINT(1) NOT NULL DEFAULT 1,
  ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, t TIME(3) DEFAULT '10:00:00', bits BIT(5) DEFAULT b'101', y YEAR,
  g POINT, mp MULTIPOLYGON, u UUID, ip INET6, bin VARBINARY(20), fix BINARY(16), tiny TINYTEXT, blob1 MEDIUMBLOB, empty VARCHAR(20) NOT NULL DEFAULT '',
  ex INT DEFAULT (1 + 2), gv INT AS (flag + 1) VIRTUAL, gs INT AS (flag + 1) STORED, hid INT INVISIBLE,
  tx TEXT DEFAULT 'it''s \\ x', neg INT NOT NULL DEFAULT -5, zf INT(6) ZEROFILL) COMMENT='odd\ntable';
CREATE TABLE Parent (id INT PRIMARY KEY, k1 INT NOT NULL, k2 VARCHAR(5) NOT NULL, UNIQUE KEY pair (k1, k2));
CREATE TABLE child (parent_id INT NOT NULL, other_parent_id INT, c1 INT, c2 VARCHAR(5), self INT, id BIGINT UNSIGNED NOT NULL UNIQUE, txt TEXT NOT NULL,
  UNIQUE KEY prefixed (txt(5)), FOREIGN KEY (parent_id) REFERENCES Parent (id), FOREIGN KEY (other_parent_id) REFERENCES Parent (id),
  FOREIGN KEY (c1, c2) REFERENCES Parent (k1, k2));
CREATE TABLE only_parent (parentId INT, FOREIGN KEY (parentId) REFERENCES Parent (id), parentid2 INT UNIQUE);
CREATE TABLE gone (id INT);
CREATE VIEW broken AS SELECT * FROM gone;
DROP TABLE gone;
CREATE VIEW sums AS SELECT parent_id, COUNT(*) AS n, SUM(c1) AS total, AVG(c1) AS mean FROM child GROUP BY parent_id;
CREATE SEQUENCE counter;
CREATE TABLE resq_operation (id INT);
CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING`

func TestMySQL(t *testing.T) {
	db, dsn := mysqlServer.create(t, "odd")
	mysqlServer.exec(t, db, oddMySQL)
	s, r, _ := roundTrip(t, db, "mysql", dsn, introspect.Options{})
	expect(t, r, "odd `t` 表", `
    key: 编号
    fields:
      编号: {type: integer, name: 编号, description: "编号：自增", nullable: false, unsigned: true}
      a.b: {type: integer, required: true, nullable: false}
      "qu\"o`+"`"+`te": {type: integer}
      e: {type: enum, name: how it went, description: "how it went (a = well, b = badly)", nullable: false, default: "d'e", values: [a, "b,c", "d'e", "", "x\\y", "l\nm"]}
      j: {type: json, required: true, nullable: false}
      checked: {type: json}
      either: {type: text}
      d: {type: "decimal(10,2)", default: 1.50}
      z: {type: "decimal(5,0)"}
      f: {type: number}
      s: {type: string, nullable: false, array: true}
      flag: {type: integer, nullable: false, default: 1}
      ts: {type: datetime, nullable: false}
      t: {type: time, default: "10:00:00.000"}
      bits: {type: integer, default: 5, unsigned: true}
      "y": {type: integer, unsigned: true}
      g: {type: string, native: point}
      mp: {type: string, native: multipolygon}
      u: {type: uuid}
      ip: {type: string, native: inet6}
      bin: {type: binary, maxLength: 20}
      fix: {type: binary, maxLength: 16}
      tiny: {type: text}
      blob1: {type: binary}
      empty: {type: string, nullable: false, maxLength: 20}
      ex: {type: integer}
      gv: {type: integer, generated: true}
      gs: {type: integer, generated: true}
      hid: {type: integer}
      tx: {type: text, default: "it's \\ x"}
      neg: {type: integer, nullable: false, default: -5}
      zf: {type: integer, unsigned: true}
`)
	if !strings.Contains(page(t, r, "odd `t` 表"), "    name: odd\n    description: \"odd\\ntable\"\n") {
		t.Error("the comment of the table is not its name and description")
	}
	expect(t, r, "child", `
    key: id
    fields:
      parent_id: {type: integer, required: true, nullable: false, references: Parent.id}
      other_parent_id: {type: integer, references: Parent.id}
      c1: {type: integer}
      c2: {type: string, maxLength: 5}
      self: {type: integer}
      id: {type: integer, required: true, nullable: false, unsigned: true}
      txt: {type: text, required: true, nullable: false}
    relations:
      - {code: parent, to: Parent, on: {parent_id: id}}
      - {code: other_parent, to: Parent, on: {other_parent_id: id}}
      - {code: c2, to: Parent, on: {c1: k1, c2: k2}}
`)
	expect(t, r, "Parent", `
    key: id
    fields:
      id: {type: integer, required: true, nullable: false}
      k1: {type: integer, required: true, nullable: false}
      k2: {type: string, required: true, nullable: false, maxLength: 5}
    relations:
      - {code: child_c2, to: child, many: true, on: {k1: c1, k2: c2}}
`)
	expect(t, r, "only_parent", `
    fields:
      parentId: {type: integer, references: Parent.id}
      parentid2: {type: integer}
`)
	expect(t, r, "sums", `
    view: true
    fields:
      parent_id: {type: integer}
      "n": {type: integer}
      total: {type: "decimal(32,0)"}
      mean: {type: "decimal(14,4)"}
`)
	if len(s.Tables) != 6 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "view broken was left out") {
		t.Errorf("%d tables, notes %v", len(s.Tables), s.Notes)
	}
}

// Two databases of one server: the codes of the connection's own are bare, the others carry their schema
// only where they must.
func TestMySQLSchemas(t *testing.T) {
	first, dsn := mysqlServer.create(t, "first")
	second, dsn2 := mysqlServer.create(t, "second")
	mysqlServer.exec(t, first, `CREATE TABLE item (id INT PRIMARY KEY); CREATE TABLE own (id INT PRIMARY KEY)`)
	name1, name2 := dsn[strings.LastIndexByte(dsn, '/')+1:], dsn2[strings.LastIndexByte(dsn2, '/')+1:]
	mysqlServer.exec(t, second, `CREATE TABLE item (id INT PRIMARY KEY); CREATE TABLE other (item_id INT, FOREIGN KEY (item_id) REFERENCES item (id))`)
	_, r, c := roundTrip(t, first, "mysql", dsn, introspect.Options{Schemas: []string{name1, name2, "mysql"}})
	for code, want := range map[string]string{"item": "", "own": "", name2 + ".item": name2, "other": name2} {
		res, ok := c.Resource(code)
		if !ok || res.Schema != want {
			t.Errorf("resource %s: %+v", code, res)
		}
	}
	other, _ := c.Resource("other")
	if ref := other.Fields[0].References; ref == nil || ref.Resource.Code != name2+".item" {
		t.Errorf("reference across files: %+v", ref)
	}
	if got := c.Connections[0].Schemas; strings.Join(got, " ") != name1+" "+name2 {
		t.Errorf("schemas %v", got)
	}
	opts := introspect.Scope(c, c.Connections[0])
	if all := read(t, first, "mysql", opts); len(all.Tables) != 4 {
		t.Errorf("the scope of the catalog %q leads to %d tables, want 4", opts.Schemas, len(all.Tables))
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the server's own") {
		t.Errorf("notes %v", r.Notes)
	}
}

// A hundred tables take a fraction of a second, in statements that do not grow with their number.
func TestMySQLSpeed(t *testing.T) {
	db, _ := mysqlServer.create(t, "many")
	var script strings.Builder
	for i := range 100 {
		fmt.Fprintf(&script, "CREATE TABLE t%d (id INT PRIMARY KEY, a VARCHAR(10), b DECIMAL(10,2), c DATETIME, UNIQUE KEY (a));\n", i)
	}
	mysqlServer.exec(t, db, script.String())
	db.SetMaxOpenConns(1) // the count is that of one session
	asked := func() (n int) {
		var name string
		if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Com_select'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before, start := asked(), time.Now()
	if s := read(t, db, "mysql", introspect.Options{}); len(s.Tables) != 100 {
		t.Errorf("%d tables", len(s.Tables))
	}
	t.Log(time.Since(start))
	if n := asked() - before; n < 1 || n > 6 {
		t.Errorf("%d statements", n)
	}
}

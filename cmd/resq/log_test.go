package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"resq/testdb"
)

// Nothing of arguments, rows and keys is in the log, whatever fails (security.md 7.3, promise N3).
func TestLogHasNoValues(t *testing.T) {
	const canary = "canary7f3a"
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dsn := testdb.Create(t, e, "CREATE TABLE item (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL)", "INSERT INTO item VALUES (1,'"+canary+"')")
		dir := t.TempDir()
		path := write(t, dir, "item.yaml", itemCatalog(e, dsn, 4, 1, 4)+
			"  - {code: Odd, table: item, key: id, fields: {id: {type: integer}, gone: {type: string}}}\n")
		s := servingOn(t, &source{catalogs: []string{path}}, false, time.Second)
		for _, call := range []string{
			`{"resource":"Item","fields":[{"code":"name"}],"conditions":{"type":"and","exprs":[{"field":"name","operator":"=","token":"` + canary + `"}]}}`,
			`{"resource":"Item","fields":[{"code":"CAST(Item.name AS integer)","isExpr":true,"alias":"n"}]}`,
			`{"resource":"Item","fields":[{"code":"Item.id + ` + canary + `","isExpr":true,"alias":"n"}]}`,
			`{"resource":"` + canary + `","fields":[]}`,
			`{"resource":"Odd","fields":[{"code":"gone"}],"conditions":{"type":"and","exprs":[{"field":"gone","operator":"=","token":"` + canary + `"}]}}`,
			`{"` + canary + `":1}`,
			`["` + canary + `"]`,
		} {
			if _, err := s.ask(context.Background(), "res-query", call); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
		calls := s.log.with(`"msg":"call"`)
		if len(calls) != 7 {
			t.Errorf("%d records of 7 calls", len(calls))
		}
		for _, line := range calls {
			var r struct {
				Tool      string  `json:"tool"`
				RequestID string  `json:"request_id"`
				Principal string  `json:"principal"`
				Rows      *int    `json:"rows"`
				MS        *int64  `json:"ms"`
				Code      *string `json:"code"`
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Tool != "res-query" || r.RequestID == "" || r.Principal != "local" || r.Rows == nil || r.MS == nil || r.Code == nil || *r.Code == "" {
				t.Errorf("%v: %s", err, line)
			}
		}
		if log := s.log.String(); strings.Contains(log, canary) {
			t.Errorf("values are in the log:\n%s", log)
		}
	})
}

// What a database says about a value is cut down to what is no value.
func TestLogWithoutData(t *testing.T) {
	for text, want := range map[string]string{
		`ERROR: invalid input syntax for type integer: "it's "5"" (SQLSTATE 22P02)`: `ERROR: invalid input syntax for type integer: … (SQLSTATE 22P02)`,
		`Error 1292 (22007): Truncated incorrect INTEGER value: 'abc'`:              `Error 1292 (22007): Truncated incorrect INTEGER value: …`,
		`FEHLER: ungültige Eingabesyntax für Typ integer: »abc« (SQLSTATE 22P02)`:   `FEHLER: ungültige Eingabesyntax für Typ integer: … (SQLSTATE 22P02)`,
		`ОШИБКА: неверный синтаксис для типа integer: „a“b“`:                        `ОШИБКА: неверный синтаксис для типа integer: …`,
		`one " mark`:              `one … mark`,
		`dial tcp 127.0.0.1:3306`: `dial tcp 127.0.0.1:3306`,
		``:                        ``,
	} {
		for _, key := range []string{"cause", "panic"} {
			if got := withoutData(nil, slog.String(key, text)).Value.String(); got != want {
				t.Errorf("%s\ngives %s\nwant  %s", text, got, want)
			}
		}
		if got := withoutData(nil, slog.String("problem", text)).Value.String(); got != text {
			t.Errorf("%s\ngives %s", text, got)
		}
	}
}

// The log's form is that which was asked for; for programs, which are no terminal, it is JSON.
func TestLogFormat(t *testing.T) {
	for format, want := range map[string]string{"": `{"time":`, logJSON: `{"time":`, logText: "time="} {
		var b bytes.Buffer
		log, err := newLog(&b, format)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("x")
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("%q: %s", format, b.String())
		}
	}
}

// B-014: phone numbers and keys are nowhere in the log, whatever it is about.
func TestLogMasks(t *testing.T) {
	key := "resq_" + strings.Repeat("QUERTY23", 7)[:52]
	for _, format := range []string{logText, logJSON} {
		var b bytes.Buffer
		log, err := newLog(&b, format)
		if err != nil {
			t.Fatal(err)
		}
		log.With("who", "13812345678").WithGroup("g").Error("call 13812345678", "error", errors.New("key "+key+" of 138-1234-5678"), "cause", "at 13812345678", "n", 5, slog.Group("h", "k", key))
		if text := b.String(); strings.Contains(text, "12345678") || strings.Contains(text, "1234-5678") || strings.Contains(text, key[:20]) || strings.Count(text, "138****5678") != 4 || strings.Count(text, "resq_***") != 2 {
			t.Errorf("%s: %s", format, text)
		}
	}
}

// Package resources holds the catalogs that are shipped in the binary, one folder per pack.
package resources

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"

	"resq/resources/erp"
	"resq/resources/store"
	"resq/resources/xiaoqu"
)

//go:embed erp/*.yaml store/*.yaml xiaoqu/*.yaml
var files embed.FS

// A Pack is a catalog in the binary, with the databases that belong to it.
type Pack struct {
	Name      string
	Files     fs.FS // the catalog's YAML files
	Databases []Database

	// Redis is the connection of the driver redis that holds Keys; "" is none.
	Redis string
	Keys  func() map[string]string

	// People are users of the pack's databases to try it with.
	People []Person
}

// A Person is a user of a pack's databases; one without a User is a service.
type Person struct{ Name, User, About string }

// A Database is the database of one connection of a pack. Version changes with what Fill makes.
type Database struct {
	Connection string
	Version    int
	Fill       func(ctx context.Context, db *sql.DB) error
}

// Packs lists the packs by name.
func Packs() []Pack {
	return []Pack{
		{Name: "erp", Files: folder("erp"), Databases: []Database{{"erp", erp.Version, erp.Fill}}},
		{Name: "store", Files: folder("store"), Databases: []Database{{"store", store.Version, store.Fill}, {"reviews", store.Version, store.FillReviews}}},
		{Name: "xiaoqu", Files: folder("xiaoqu"), Databases: xiaoquDatabases(), Redis: "redis", Keys: xiaoqu.Keys, People: []Person{
			{"head", "1", "head office, sees everything"},
			{"agent", "2", "an agent with a subordinate, a delegated agent and an authorised property"},
			{"sales", "3", "sells, and does not lead the sales department"},
			{"nobody", "4", "an agent whose sets are empty"},
			{"service", "", "a service without a user"},
		}},
	}
}

func xiaoquDatabases() (out []Database) {
	for _, c := range xiaoqu.Connections {
		out = append(out, Database{c, xiaoqu.Version, xiaoqu.Fill(c)})
	}
	return out
}

// Find gives the pack of a name.
func Find(name string) (Pack, bool) {
	for _, p := range Packs() {
		if p.Name == name {
			return p, true
		}
	}
	return Pack{}, false
}

func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // the name is no path: a mistake of this file
	}
	return sub
}

// Package resources holds the catalogs that are shipped in the binary, one folder per pack.
package resources

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"

	"resq/resources/store"
)

//go:embed store/*.yaml
var files embed.FS

// A Pack is a catalog in the binary, with the database that belongs to it.
type Pack struct {
	Name  string
	Files fs.FS // the catalog's YAML files

	// Connection is the connection of the catalog whose database Fill makes. Version changes with what Fill
	// makes. Without Fill a pack needs no database of its own.
	Connection string
	Version    int
	Fill       func(ctx context.Context, db *sql.DB) error
}

// Packs lists the packs by name.
func Packs() []Pack {
	return []Pack{
		{Name: "store", Files: folder("store"), Connection: "store", Version: store.Version, Fill: store.Fill},
	}
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

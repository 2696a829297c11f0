package tools_test

import (
	"database/sql/driver"
	"time"

	"resq/engine"
	"resq/schema"
	"resq/testdb"
)

// A recorded driver is the real dialect whose connections tell the recorder what they are asked to do.
type recorded struct {
	engine.Driver
	recorder *testdb.Recorder
}

// Connector opens the dialect's own connector and listens to it.
func (d recorded) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	inner, err := d.Driver.Connector(c, timeout)
	if err != nil {
		return nil, err
	}
	return d.recorder.Connector(inner), nil
}

package attack_test

import (
	"resq/engine/policy"
)

// catalog is the fixture's catalog in this system's own files. An order is seen through its user, who is
// seen through the department, so the second rule stands on the first.
const catalog = `
version: 1
rules:
  own_department:
    args: [dept]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows: {type: and, exprs: [{field: $dept, operator: "=", tokenType: principal, token: dept_id}]}
  own_order:
    args: [user]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows:
          type: and
          exprs:
            - field: $user
              operator: IN
              tokenType: query
              query: {resource: User, fields: [{code: id}]}
resources:
  - code: Dept
    name: 部门
    table: t_dept
    key: id
    fields:
      id: {type: integer}
      name: {type: string, maxLength: 50, required: true}
      parent_id: {type: integer, nullable: false, references: Dept.id}
  - code: User
    name: 用户
    table: t_user
    key: id
    writes: [create, update, delete]
    fields:
      id: {type: integer}
      name: {type: string, maxLength: NAME_LENGTH, required: true}
      email: {type: string, maxLength: 100, mask: redact}
      phone: {type: string, maxLength: 20, mask: last4}
      status: {type: integer, nullable: false}
      dept_id: {type: integer, references: Dept.id}
      created_at: {type: datetime, nullable: false, system: created_at}
    rows: {rule: own_department, args: {dept: dept_id}}
  - code: Order
    name: 订单
    table: t_order
    key: id
    writes: [create, update, delete]
    fields:
      id: {type: integer}
      user_id: {type: integer, references: User.id}
      amount: {type: "decimal(12,2)", required: true}
      status: {type: integer, nullable: false}
      created_at: {type: datetime, nullable: false, system: created_at}
    rows: {rule: own_order, args: {user: user_id}}
  - code: HiddenResource
    table: t_hidden
    key: id
    roles: [nobody]
    fields:
      id: {type: integer}
      name: {type: string, maxLength: 50}
`

// sqlTools are the fixture's own SQL tools; their statements need no cast for an argument that is left out.
const sqlTools = `
version: 1
tools:
  - name: search_orders
    title: Search orders
    description: Orders of one user.
    parameters:
      customer_id: {type: integer}
      status: {type: integer, enum: [0, 1, 2], default: 1}
      from_date: {type: date, required: false}
      text: {type: string, maxLength: 30, required: false}
    sql: |
      SELECT o.id, o.user_id, o.amount, o.status, o.created_at
      FROM t_order o JOIN t_user u ON u.id = o.user_id
      WHERE o.user_id = :customer_id AND o.status = :status
      AND (:from_date IS NULL OR o.created_at >= :from_date)
      AND (:text IS NULL OR u.name = :text)
  - name: user_contacts
    title: User contacts
    description: How to reach a user.
    parameters:
      name: {type: string, maxLength: 20}
    sql: SELECT name, email, phone FROM t_user WHERE name = :name
`

// who may ask, by name. root's rows are all rows, its masks are everybody's.
var people = map[string]*policy.Principal{
	"alice":        person("alice", "1", map[string]string{"dept_id": "10"}, "read", "write", "delete"),
	"bob":          person("bob", "3", map[string]string{"dept_id": "20"}, "read", "write", "delete"),
	"root":         person("root", "1", map[string]string{"all_rows": "true"}, "read", "write", "delete"),
	"readonly_key": person("readonly_key", "1", map[string]string{"dept_id": "10"}, "read"),
	"dave_no_dept": person("dave_no_dept", "4", nil, "read"),
	// alice's other key, and one that deletes nothing
	"alice_key2":       again("alice", "alice_key2", "read", "write", "delete"),
	"writer_no_delete": person("writer_no_delete", "1", map[string]string{"dept_id": "10"}, "read", "write"),
	"manager":          person("manager", "1", map[string]string{"all_rows": "true"}, "read", "write", "delete"),
}

// again is a person with another key.
func again(name, key string, scopes ...string) *policy.Principal {
	p := person(name, "1", map[string]string{"dept_id": "10"}, scopes...)
	p.Key = key
	return p
}

func person(name, id string, attributes map[string]string, scopes ...string) *policy.Principal {
	p := &policy.Principal{
		Name: name, Key: name, Scopes: scopes, Attributes: map[string]policy.Value{},
		Funcs: map[string]policy.Value{
			"UserID": policy.One(id), "UserUuid": policy.One("uuid-" + name), "UserPlatform": policy.One("test"), "UserSaaS": policy.One("1"),
			"UserRolesUuid": {List: true, Texts: []string{"role-" + name}},
		},
	}
	for k, v := range attributes {
		p.Attributes[k] = policy.One(v)
	}
	return p
}

CREATE TABLE login (id INTEGER PRIMARY KEY, uuid VARCHAR(40), agent_id INTEGER, isagent INTEGER, sale BOOLEAN, enabled BOOLEAN, limit_ DECIMAL(10,2), deleted INTEGER);
CREATE TABLE agent (id INTEGER PRIMARY KEY, supervisor_id INTEGER, name VARCHAR(40), gone INTEGER);
CREATE TABLE delegation (user_id INTEGER, agent_id INTEGER);
CREATE TABLE property_auth (agent_id INTEGER, property_id INTEGER);
CREATE TABLE property (id INTEGER PRIMARY KEY, agent_id INTEGER, created_by INTEGER, name VARCHAR(40));
INSERT INTO login VALUES
  (1, 'u-head', 100, 0, FALSE, TRUE, 10.50, 0), (2, 'u-agent', 10, 1, FALSE, TRUE, 0.00, 0), (3, 'u-sale', 100, 0, TRUE, TRUE, 5.00, NULL), (4, 'u-none', NULL, 1, FALSE, TRUE, 1.00, 0),
  (5, 'u-locked', 10, 0, FALSE, FALSE, 1.00, 0), (6, 'u-gone', 10, 0, FALSE, TRUE, 1.00, 1), (7, 'u-lone', 30, 1, NULL, TRUE, NULL, 0), (8, NULL, 10, NULL, NULL, TRUE, NULL, 0);
INSERT INTO agent VALUES (10, 100, 'Ten', 0), (11, 10, 'ten-one', 0), (12, 10, 'ten-two', 0), (13, 10, 'ten-gone', 1), (20, 100, 'TEN', 0), (21, 20, 'Ten ', 0), (30, 100, 'lone', 0), (100, NULL, 'head', 0);
INSERT INTO delegation VALUES (2, 20), (2, 20), (3, 30), (8, NULL), (8, 21);
INSERT INTO property_auth VALUES (10, 504), (10, NULL), (20, 505);
INSERT INTO property VALUES (501, 10, 1, 'p1'), (502, 11, 3, 'p2'), (503, 20, 1, 'p3'), (504, 30, 1, 'p4'), (505, 21, 1, 'p5'), (506, NULL, NULL, 'p6');

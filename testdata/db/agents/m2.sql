CREATE TABLE wh_out (id INTEGER PRIMARY KEY, agent_id INTEGER, out_no VARCHAR(40));
CREATE TABLE wh_out_detail (id INTEGER PRIMARY KEY, out_id INTEGER, warehouse_id INTEGER);
CREATE TABLE warehouse (id INTEGER PRIMARY KEY, agent_id INTEGER, manager_agent_id INTEGER);
CREATE TABLE wh_process (id INTEGER PRIMARY KEY, out_id INTEGER, user_id INTEGER);
INSERT INTO wh_out VALUES (1, 10, 'o1'), (2, 30, 'o2'), (3, 30, 'o3'), (4, 30, 'o4'), (5, NULL, 'o5'), (6, 21, 'o6'), (7, 12, 'o7');
INSERT INTO warehouse VALUES (71, 11, NULL), (72, 30, 20), (73, 30, NULL), (74, NULL, NULL);
INSERT INTO wh_out_detail VALUES (1, 2, 71), (2, 2, 73), (3, 3, 72), (4, 4, 73), (5, 5, 74), (6, NULL, 71);
INSERT INTO wh_process VALUES (1, 4, 2), (2, 4, 7), (3, 6, 3), (4, NULL, 4);

select id, name from customer where id = 7 and name like concat('%', 'a', '%')
with recursive tree (id, parent, depth) as (select id, parent, 0 from dept where id = 1 union all select d.id, d.parent, tree.depth + 1 from dept d join tree on d.parent = tree.id) select * from tree
with a as (select * from orders), b as (select a.id, sum(a.amount) over (partition by a.customer order by a.id) s from a) select b.*, c.phone from b left join customer c on c.id = b.id where exists (select 1 from roles r where r.id = c.id) order by s desc limit 10 offset 5
select c.id, (select max(o.amount) from orders o where o.customer = c.id) m from customer c group by c.id having count(*) > 1
select json_extract(extra, '$.a'), extra ->> '$.b', date_format(created, '%Y-%m') from customer where created >= now() - interval 7 day
select * from customer where match (name) against ('+a' in boolean mode)
select distinct a.x, case when b.y is null then 'n' else b.y end from a natural join b union all select 1, 2 from c
select group_concat(distinct name order by name separator ',') from customer
select * from customer where name regexp '^a' and id rlike '1'
select t.a, row_number() over w from t window w as (order by id)
select * from t1 left join t2 on t1.a = t2.a cross join t3 where t1.a in (select a from t4) and t2.b between 1 and 2
select id from a except select id from b
select cast(x as char character set utf8mb4), convert(y using utf8mb4) collate utf8mb4_bin from t
select timestampdiff(day, a, b), trim(leading '0' from c), extract(year from d), substring(e from 2 for 3), char(65, 66 using utf8mb4) from t
select * from (select 1 as a union select 2) x, ((select 3 as b)) y where a = any (select b from z)
select /* one */ a -- two
select a from s.t as u where u.a <=> null or not (b xor c) and d div 2 mod 3 = 1

select id, name from customer where id = 7 and name ilike '%' || 'a' || '%'
with recursive tree(id, parent, depth) as (select id, parent, 0 from dept where id = 1 union all select d.id, d.parent, tree.depth + 1 from dept d join tree on d.parent = tree.id) select * from tree
with a as materialized (select * from orders) select b.*, c.phone from a b left join lateral (select * from customer c where c.id = b.id) c on true where exists (select 1 from roles r where r.id = c.id) order by s desc nulls last limit 10
select extra ->> 'a', extra @> '{"a":1}'::jsonb, jsonb_path_query(extra, '$.a') from customer where created >= now() - interval '7 days'
select "Customer"."Name" from public."Customer" where "State" = any (array[1, 2]::int[])
select * from (values (1, 2), (3, 4)) v (a, b)
select * from generate_series(1, 10) g
select count(*) filter (where x > 1), percentile_cont(0.5) within group (order by y) from t group by rollup(a, b)
select a from t group by grouping sets ((a), ()) having count(*) > 1 fetch first 3 rows only
select distinct on (a) a, b::date, extract(year from c), d at time zone 'utc' from t order by a
select $$it's$$, e'a\nb', $x$ $$ $x$, x'1f', b'01' from t
select trim(both 'x' from y), substring(a from 2 for 3), overlay(a placing b from 1), position('a' in b) from t
select row_number() over (partition by a order by b rows between unbounded preceding and current row) from t
select (select max(x) from u where u.a = t.a), array(select 1), row(1, 2) from t where (a, b) in (select a, b from v) and c is not distinct from d and e similar to 'x'
select a[1:2], a[1], t.* from ((a join b using (id)) join t on true) where a like 'x' escape '!'

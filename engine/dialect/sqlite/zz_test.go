package sqlite
import ("testing";"database/sql")
func BenchmarkSum(b *testing.B){
 db,_:=sql.Open("sqlite",":memory:"); db.SetMaxOpenConns(1)
 db.Exec("create table t(i integer, d decimal(12,2), s text)")
 db.Exec("with recursive c(n) as (select 1 union all select n+1 from c where n<200000) insert into t select n, n*0.37, 'name '||n from c")
 for _,q:=range []string{"select sum(i) from t","select resq_sum(i) from t","select sum(d) from t","select resq_sum(d) from t","select sum(resq_mul(i,2)) from t","select sum(i*2) from t","select max(d*d) from t","select max(resq_mul(d,d)) from t","select max(resq_finite(d*d)) from t","select max(upper(s)) from t","select max(resq_upper(s)) from t","select count(*) from t where s like '%99%'","select count(*) from t where resq_ilike(s,'%99%')","select max(resq_round(d,1)) from t","select max(round(d,1)) from t"} {
  b.Run(q, func(b *testing.B){ for range b.N { var x any; if err:=db.QueryRow(q).Scan(&x); err!=nil {b.Fatal(err)} } })
 }
}

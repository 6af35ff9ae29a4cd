/** What work is about, in Korean and English; the lines are written as in glossary-actions.ts. */

/** Things that a skill can be about. */
export const THINGS = `
story: story stories 스토리
feature-flag>flag,feature: feature_flag feature_flags feature_toggle feature_switch behind_a_flag behind_flag kill_switch 킬_스위치 켜고_끌 피처_플래그 피쳐_플래그 기능_플래그 기능_토글 피처_토글 플래그_뒤
staging>qa: staging stage stage_server stg pre_prod preprod pre_production stage_env 스테이징 스테이지 검증서버
production: production prod prd 프로덕션 운영 라이브 상용 본서버 실서버
migration>database: migration alter_table ddl alembic flyway liquibase 마이그레이션
schema: schema 스키마
endpoint>api: endpoint 엔드포인트 끝점
http-method>endpoint: http_method
route>endpoint: route router routing 라우트 라우터 라우팅
handler>endpoint: handler controller 핸들러 컨트롤러
i18n>translate: i18n internationalization internationalisation localization localisation l10n locale language_file translation_file 언어_파일 번역_파일 다국어 현지화 국제화 로케일 로컬라이징
pr: pr prs pull_request merge_request mr 풀리퀘 풀_리퀘스트 풀리퀘스트 머지_리퀘스트 피알
changelog>release,note: changelog change_log changelog.md release_note release_notes release_history 릴리스_노트 릴리즈_노트 변경_이력 변경_로그 변경_내역 체인지로그 패치_노트 업데이트_내역
dependency>npm: dependency dependencies package packages library libraries lib libs deps dep 의존성 패키지 라이브러리 디펜던시
npm: npm yarn pnpm node_package
unit: unit 단위 유닛
coverage>test: coverage 커버리지
testcase>test: test_case edge_case boundary boundary_case 테스트케이스 경계값 엣지_케이스 테스트_케이스
e2e>browser,test: e2e end_to_end endtoend 엔드투엔드 이투이 종단간
playwright>e2e,test,browser: playwright cypress selenium puppeteer 플레이라이트 사이프러스 셀레늄
testrunner>test,unit: jest vitest pytest mocha junit rspec
load-test>performance,test: load_test stress_test 부하_테스트 로드_테스트 스트레스_테스트
integration-test>test: integration_test 통합_테스트
browser: browser chromium chrome firefox safari webkit 브라우저 크롬 사파리
flow: flow scenario user_flow journey walk_through 플로우 흐름 시나리오 동선 여정
performance: performance perf 성능 퍼포먼스
bottleneck>performance: bottleneck hotspot hot_path 병목 보틀넥
render: render rendering rerender 렌더링 렌더 리렌더링
docker: docker dockerfile dockerize container containerize docker_compose 도커 도커파일 컨테이너
spec>document: spec specification 스펙 명세 명세서 규격 사양
openapi>api,spec: openapi open_api swagger 오픈에이피아이 스웨거
typescript>type: typescript ts 타입스크립트
rollout: rollout gradual gradually canary 롤아웃 점진적 점진적으로 단계적 단계적으로 카나리 카나리아
log: log logs logfile access_log syslog 로그 로그파일
security: security secure 보안 시큐리티
vulnerability>security: vulnerability vulnerable vuln hardening exploit cve xss csrf ssrf injection owasp pen_test pentest penetration_test security_hole 취약점 취약 인젝션 침투 침투테스트 해킹
secret>security: secret credential leaked leak_secret 비밀키 시크릿 자격증명 유출
api-key>secret,api,key: api_key access_key
auth: auth authentication authenticate 인증 어스
authorization: authorization permission authorize unauthorized access_control 권한 인가 접근권한 접근_제어
hook: hook 훅
storybook>story: storybook csf 스토리북
variant: variant variants 변형 베리언트
lintrule>lint: eslint biome tslint stylelint pylint ruff rubocop flake8 이에스린트
prettier>format: prettier 프리티어
fakedata>seed,data: faker seed_data dummy_data fake_data test_data sample_data mock_data 시드_데이터 더미_데이터 가짜_데이터 테스트_데이터 샘플_데이터 목_데이터 테스트용_데이터
sample: sample 샘플 견본
gitignore: gitignore .gitignore
kubernetes: kubernetes k8s kubectl helm 쿠버네티스 쿠베 헬름
replica: replica replicas 레플리카 복제본
terraform: terraform tofu iac 테라폼
cron>job: cron crontab cron_job batch_job 크론 크론잡 배치 batch
queue: queue kafka rabbitmq 큐 카프카 대기열
cache: cache caching 캐시 캐싱
webhook: webhook 웹훅
conflict: conflict merge_conflict 충돌 컨플릭트 머지_충돌 병합_충돌
stash: stash 스태시
graphql: graphql 그래프큐엘 그래프QL
resolver: resolver mutation 리졸버 뮤테이션
query: query 쿼리 질의
transaction: transaction 트랜잭션
websocket: websocket 웹소켓 소켓
proxy: proxy nginx 프록시
certificate: certificate ssl tls https 인증서
bucket: bucket s3 버킷
lambda: lambda serverless 람다 서버리스
incident: incident outage postmortem post_mortem 장애 사고 회고
alert: alert alarm 알람 경보
metric: metric metrics telemetry 지표 메트릭
report: report reports 보고서 리포트
weekly>report: weekly weekly_report 주간 이번주 주간_보고
daily: daily standup 일간 일일 데일리 스탠드업
meeting: meeting 회의 회의록 미팅
issue: issue ticket 이슈 티켓
backlog: backlog user_story user_stories 유저_스토리 사용자_스토리 sprint roadmap 백로그 스프린트 로드맵
architecture: architecture adr 아키텍처 설계
diagram: diagram mermaid flowchart 다이어그램 순서도 도식
design: design figma mockup 디자인 피그마 시안
prototype: prototype poc 프로토타입 시제품
readme>document: readme readme.md 리드미
guide>document: guide tutorial onboarding manual 가이드 튜토리얼 매뉴얼 온보딩
comment: comment comments jsdoc 주석 코멘트 댓글
license: license licence 라이선스 라이센스
accessibility: accessibility a11y aria screen_reader wcag 접근성 스크린_리더 스크린리더
seo: seo sitemap meta_tag 검색엔진최적화 사이트맵
analytics: analytics 애널리틱스 통계
duplicate: duplication duplicated duplicate_code 중복
memory: memory leak memory_leak heap 메모리 누수
concurrency: concurrency thread race_condition deadlock 동시성 스레드 쓰레드 경쟁_상태 교착
async: async asynchronous await 비동기
type-error>type,error: type_error tsc type_check typecheck 타입_에러 타입_오류 타입_체크 타입체크
bug: bug defect 버그 결함
crash: crash segfault panic 크래시 먹통
exception: exception 예외 stack_trace stacktrace 스택트레이스
infra: infra infrastructure 인프라
monorepo: monorepo workspace 모노레포 워크스페이스
dataset: dataset 데이터셋
chart: chart graph 차트 그래프 도표
csv: csv excel spreadsheet 엑셀 스프레드시트
pdf: pdf
regex: regex regexp 정규식 정규표현식
plugin: plugin extension 플러그인 확장
middleware: middleware 미들웨어
orm: orm prisma drizzle sequelize typeorm 프리즈마
redux: redux zustand recoil mobx 리덕스
redirect: redirect 리다이렉트 리디렉션
newsletter: newsletter digest 뉴스레터
slack: slack 슬랙
jira: jira 지라
notion: notion 노션
blog: blog blog_post 블로그 블로그_글 블로그_포스트 포스팅 게시글
slides: slides slide presentation 슬라이드 발표자료 프레젠테이션
storage: storage 스토리지
cloud: cloud aws gcp azure 클라우드
firebase: firebase 파이어베이스
vercel: vercel 버셀
python: python 파이썬
java: java 자바
rust: rust 러스트
golang: golang 고랭
node: node nodejs node.js 노드
django: django 장고
research: research survey 리서치 자료조사
reactlib: react vue svelte angular nextjs next.js 리액트 스벨트 앵귤러
`;

/** The same, but so wide that one project has many skills about them. */
export const AREAS = `
staged>git: staged unstaged unstage git_add stage_all staging_area 스테이지할 스테이지된
git: git 깃
ci: ci ci_cd github_actions pipeline workflow jenkins gitlab_ci 파이프라인 워크플로 워크플로우 젠킨스
type: type typing typings 타입 타이핑 자료형
api>endpoint: api rest restful 에이피아이
`;

/** What something is like. */
export const QUALITIES = `
unused: unused dead_code unused_code 데드_코드 미사용 안_쓰는 쓰지_않는 사용하지_않는 안쓰는
public: public private
local: local 로컬
default: default 기본값 디폴트
safe: safe safely safety 안전
previous: previous prior last_good earlier 이전 직전 지난 예전
latest: latest newest recent 최신 최근
outdated>version: outdated out_of_date stale deprecated obsolete 오래된 구버전 낡은 뒤처진
deterministic>flaky: deterministic determinism 결정적 일관되게
flaky: flaky flakiness flake intermittent sporadic nondeterministic non_deterministic 플레이키 플래키 간헐적 간헐적으로 들쭉날쭉~ 오락가락~ 불안정
fast>performance: fast faster quick quicker speed speedy 빠르~ 빨라~ 빠른~ 빠릅~ 속도 스피드
slow>performance: slow sluggish laggy lag latency slowness slows slower load_time 느리~ 느려~ 느린~ 느릴~ 느림 버벅~ 오래_걸리~ 오래_걸려~ 오래_걸린~ 지연 굼뜨~ 굼떠~ 무거~ 무겁~
sometimes>flaky: sometimes occasionally random randomly once_in_a_while now_and_then from_time_to_time 가끔 때때로 이따금 종종 어쩌다 어쩔_때 랜덤 랜덤하게 무작위
`;

/** Words of the trade that are in every project: sharing one says little, but they do name another subject. */
export const COMMON = `
language: language english korean japanese chinese spanish german french 언어 영어 한국어 한글 일본어 중국어 영문 국문
client-code: api_client sdk 클라이언트 client
domain: domain dns 도메인
cli: cli command_line 명령줄
prompt: prompt 프롬프트
model: model 모델
json: json yaml xml toml
env: env environment_variable dotenv 환경변수 환경_변수
environment: environment 환경
config: config configuration settings 설정 컨피그 구성
token: token jwt 토큰
session: session 세션
logic: logic 로직
copywriting: wording copy_text 문구 카피 text texts string strings 텍스트 문자열
branch: branch 브랜치
component: component 컴포넌트 콤포넌트
flag: flag 플래그
feature: feature 기능 피처 피쳐 기능들
job: job task worker 작업자 워커 잡 태스크
note: note notes 노트 메모
database: database db sql postgres postgresql mysql sqlite mongodb mariadb oracle 데이터베이스 디비
key: key 키
template: template boilerplate 템플릿 보일러플레이트 양식
index: index 인덱스 색인
column: column 컬럼 칼럼
table: table 테이블
video: video videos clip 비디오 영상 동영상
image: image picture photo 이미지 사진 그림
error: error errors failure failing fail failed broken break breaks 에러 오류 실패 깨지~ 깨져~ 깨진~ 깨졌~ 터지~ 터져~ 터진~ 터졌~ 망가~
warning: warning warnings 경고 워닝
cause: cause reason root_cause 원인 이유
problem: problem trouble wrong 문제 문제점
pattern: pattern 패턴
version: version versions 버전
server: server 서버
page: page 페이지
screen: screen view 화면 뷰 스크린
array: array object_literal 배열 객체
function: function method 함수 메서드 메소드 펑션
class: class 클래스
module: module 모듈
data: data 데이터 자료
state: state status 상태
store: store 스토어 저장소
message: message 메시지 메세지
request: request 요청 리퀘스트
response: response 응답 리스폰스
example: example 예시 예제 사례
parameter: parameter argument 파라미터 매개변수 인자
field: field 필드
value: value 값
variable: variable 변수 변수명
constant: constant 상수
name: name naming 이름 네이밍 명칭
rule: rule rules convention 규칙 컨벤션 룰
script: script 스크립트
command: command 명령 명령어 커맨드
option: option options 옵션
folder: folder directory 폴더 디렉터리 디렉토리
path: path 경로
address: address 주소
url: url link_url 링크
port: port 포트
button: button 버튼
icon: icon logo 아이콘 로고
menu: menu navbar navigation 메뉴 내비게이션 네비게이션
header: header 헤더
footer: footer 푸터
sidebar: sidebar 사이드바
layout: layout 레이아웃
css: css style stylesheet tailwind 스타일 씨에스에스
color: color colour background 색 색깔 색상 배경색 컬러 배경
font: font 폰트 글꼴 글씨
theme: theme dark_mode 테마 다크_모드 다크모드
animation: animation 애니메이션
spinner: spinner loading 스피너 로딩
modal: modal dialog popup 모달 팝업 다이얼로그
form: form 폼
input: input textbox 입력 입력창 인풋
toast: toast tooltip 토스트 툴팁
toggle>flag: toggle 토글
tab: tab 탭
list: 목록 리스트
filter: filter 필터
pagination: pagination 페이지네이션 페이징
label: label 라벨 레이블
step: step 단계 절차
tag: tag 태그
size: size 용량 크기 사이즈
width: width height margin padding 너비 높이 여백 간격
position: position 위치
date: date 날짜 일자
timezone: timezone time_zone 시간대
history: history 이력 내역 히스토리
description: description 설명문
title: title 제목 타이틀
repo: repo repository 레포 리포 레포지토리 리포지토리
project: project 프로젝트
app: app application 앱 어플 애플리케이션
service: service 서비스
frontend: frontend front_end 프론트 프론트엔드
backend: backend back_end 백엔드
hotfix: hotfix 핫픽스
process: 프로세스
event: event 이벤트
timeout: timeout 타임아웃
retry: retry retries 재시도
count: 개수 횟수 건수
difference: difference 차이 차이점
print: console_log console 콘솔
development: development dev 개발
qa: qa
team: team 팀
document-part: section paragraph sentence 섹션 단락 문단 문장
author: author owner 작성자 담당자
deadline: deadline 마감일 일정
screenshot: screenshot 스크린샷 캡처
severity: severity severe 심각도 심각
change-set>change: diff changes changed changeset staged 변경사항 변경점 변경분 수정사항 바뀐_내용 변경_사항
main-branch: main master trunk 메인 마스터
hardcoded>copywriting: hardcoded hard_coded hardcode 하드코딩
`;

/** What products are about: they name the place of work more often than the work. */
export const DOMAIN = `
user: user users account member 사용자 유저 회원 계정
dashboard: dashboard 대시보드
email: email mail e_mail 이메일 메일
mobile: mobile ios android 모바일 안드로이드 아이폰
notification: notification push_notification 알림 푸시알림
password: password 비밀번호 패스워드 암호
signup: signup sign_up registration register 회원가입 가입
logout: logout sign_out log_out 로그아웃
login: login sign_in signin log_in 로그인
payment: payment checkout billing 결제 빌링 청구
customer: customer 고객
admin: admin administrator 관리자 어드민
product: product products 상품 제품
order: order orders 주문
invoice: invoice 송장 청구서 영수증 receipt
`;
